-- question: which schemas and toolsets stay although the run goes that sent them first, and who is their heir?
create temp table heirs as
select spans.rowid as place, uses.heir
from spans
inner join uses on uses.digest = case spans.record when 'schema' then spans.definition_digest else spans.toolset_digest end
where spans.record in ('schema', 'toolset') and spans.run_id in (select run_id from gone_runs);
