-- question: does the new file hold all that stays, and nothing of what goes?
select
    (select count(*) from purge_draft.spans) as spans,
    (select count(*) from purge_draft.calls) as calls,
    (select count(*) from purge_draft.spans where run_id in (select run_id from gone_runs)) as stray_spans,
    (select count(*) from purge_draft.calls where run_id in (select run_id from gone_runs)) as stray_calls;
