-- question: which calls go? Those of which anything belongs to a run that goes: a call is one thing, too.
create temp table gone_calls as
select call_id from calls where run_id in (select run_id from gone_runs)
union
select call_id from spans where record is not null and call_id is not null and run_id in (select run_id from gone_runs);
