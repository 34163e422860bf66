-- question: which calls of this tool were there, and what became of each?
-- numerator: the calls of ($server, $tool)
-- denominator: none, this is a list
-- grain: call; newest first, then those without known times in recorded order
-- excludes: nothing
select
    f.run_id as run, r.task, r.trial, r.run_outcome, f.decision_id as decision, f.call_id as call, f.call_ordinal, f.via,
    f.outcome, f.observation, f.error_class, f.rejected_by, f.attempts, a.arguments,
    f.identical_repeat, f.novel_values, f.in_arguments, f.in_answer, f.measurable,
    case
        when f.time_known and f.has_call_span
            then cast(f.ended_ns - f.started_ns as double) / cast(1000000 as double)
    end as duration_ms,
    f.week,
    case when f.time_known then f.started_ns end as started_ns
from call_facts as f
left join runs as r on r.run_id = f.run_id
left join (
    select call_id, max(arguments) as arguments from spans
    where record = 'call' and tool = $tool and coalesce(server, '') = $server
    group by 1
) as a on a.call_id = f.call_id
where f.server = $server and f.tool = $tool
order by f.time_known desc, case when f.time_known then -f.started_ns else f.started_ns end, f.run_id, f.call_ordinal
