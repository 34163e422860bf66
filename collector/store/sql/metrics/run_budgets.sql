-- question: what did each run use of what it may?
-- numerator: `calls` and `attempts` that were recorded and `seconds` from the run's begin to its end; `spent` is what the
--   application says that it used, as JSON by name, one text for each part of the run that was recorded: they add up
-- denominator: `budget`, the limits by name as JSON; a limit of which nothing was told or counted is not known to be kept
-- grain: run, newest first, then those without known times
-- excludes: runs without limits, of which nothing was spent and nothing said what stopped them, unless $run names one; the
--   seconds of a run of which begin or end is not known are null
-- optional: source, run, limit
with used as (
    select run_id, count(*) as calls, sum(attempts) as attempts from calls group by 1
),
told as (
    select run_id, list(spent) as spent from spans where record = 'run' and spent is not null group by 1
)
select
    r.run_id as run, r.source, r.task, r.week, r.run_outcome as outcome, r.stopped_by, r.budget, t.spent,
    coalesce(u.calls, 0) as calls,
    cast(coalesce(u.attempts, 0) as bigint) as attempts,
    case
        when r.time_known and r.has_run_span then cast(r.ended_ns - r.started_ns as double) / cast(1000000000 as double)
    end as seconds
from runs as r
left join used as u on u.run_id = r.run_id
left join told as t on t.run_id = r.run_id
where ($source is null or r.source = $source)
    and case
        when $run is null then r.budget is not null or t.spent is not null or r.stopped_by <> 'unknown'
        else r.run_id = $run
    end
order by r.time_known desc, r.started_ns desc, 1
limit $limit
