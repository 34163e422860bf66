-- question: which calls stay?
insert into purge_draft.calls by name
select * from calls where call_id not in (select call_id from gone_calls);
