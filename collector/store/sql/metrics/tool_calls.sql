-- question: which calls of this tool were there, and what became of each?
-- numerator: the calls of ($server, $tool)
-- denominator: none, this is a list
-- grain: call; newest first, then those without known times in recorded order
-- excludes: nothing; `total` counts the calls before $limit cuts the list
-- optional: source, week, limit
with wanted as (
    select
        *,
        count(*) over () as total,
        row_number() over (
            order by time_known desc, case when time_known then -started_ns else started_ns end, run_id, call_ordinal, call_id
        ) as place
    from call_facts
    where server = $server and tool = $tool and ($source is null or source = $source) and ($week is null or week = $week)
    order by place
    limit $limit
)
select
    f.run_id as run, f.source, r.task, r.trial, r.run_outcome, f.decision_id as decision, f.call_id as call, f.call_ordinal,
    f.via, f.outcome, g.gate_state = 'rejected' and f.attempts > 0 as ran_although_denied,
    f.observation, f.error_class, f.rejected_by, f.attempts, a.arguments, f.validity as arguments_valid,
    f.identical_repeat, f.novel_values, f.in_arguments, f.in_answer, f.measurable,
    case
        when f.time_known and f.has_call_span
            then cast(f.ended_ns - f.started_ns as double) / cast(1000000 as double)
    end as duration_ms,
    f.week,
    case when f.time_known then f.started_ns end as started_ns,
    f.total
from wanted as f
join calls as g on g.call_id = f.call_id
left join runs as r on r.run_id = f.run_id
left join (
    select call_id, max(arguments) as arguments from spans
    where record = 'call' and call_id in (select call_id from wanted)
    group by 1
) as a on a.call_id = f.call_id
order by f.place
