-- question: which schemas and toolsets go too, since no run that stays uses them?
insert into gone_spans
select rowid
from spans
where record in ('schema', 'toolset')
    and run_id in (select run_id from gone_runs)
    and case record when 'schema' then definition_digest else toolset_digest end not in (select digest from uses);
