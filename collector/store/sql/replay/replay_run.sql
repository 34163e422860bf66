-- question: what is known of the run $run as a whole?
select
    run_id, source, time_known, week, started_ns, ended_ns, agent, task, task_category, trial, session, labels,
    run_outcome, outcome_source, reward, run_inferred, has_run_span
from runs
where run_id = $run
