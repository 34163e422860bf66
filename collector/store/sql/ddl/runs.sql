-- question: which runs were seen, and how did each end? One row a run id on any span of ours; the run's own span may be missing.
create view runs as
select
    run_id,
    min(source) as source,
    bool_and(coalesce(time_known, true)) as time_known,
    coalesce(arg_min(week, start_ns) filter (where record = 'run'), arg_min(week, start_ns)) as week,
    coalesce(min(start_ns) filter (where record = 'run'), min(start_ns)) as started_ns,
    -- The attempt of a process that died ends when that was found out, which may be days later.
    coalesce(
        max(end_ns) filter (where record = 'run'), max(end_ns) filter (where coalesce(error_type, '') <> 'ProcessDied'), max(end_ns)
    ) as ended_ns,
    arg_max(agent, end_ns) filter (where record = 'run') as agent,
    arg_max(task, end_ns) filter (where record = 'run') as task,
    arg_max(task_category, end_ns) filter (where record = 'run') as task_category,
    arg_max(trial, end_ns) filter (where record = 'run') as trial,
    arg_max(session, end_ns) filter (where record = 'run') as session,
    arg_max(labels, end_ns) filter (where record = 'run') as labels,
    coalesce(arg_max(run_outcome, end_ns) filter (where record = 'run'), 'unknown') as run_outcome,
    coalesce(arg_max(outcome_source, end_ns) filter (where record = 'run'), 'unknown') as outcome_source,
    arg_max(reward, end_ns) filter (where record = 'run') as reward,
    coalesce(bool_or(run_inferred) filter (where record = 'run'), false) as run_inferred,
    coalesce(arg_max(stopped_by, end_ns) filter (where record = 'run'), 'unknown') as stopped_by,
    arg_max(budget, end_ns) filter (where record = 'run') as budget,
    arg_max(spent, end_ns) filter (where record = 'run') as spent,
    bool_or(record = 'run') as has_run_span
from spans
where record is not null and run_id is not null
group by run_id;
