-- question: what happened in all (in each week)?
-- numerator: runs by outcome, decisions that called a tool, calls by what became of them (`good`, `errors`, and the
--   rest, not known to be good), `measured` results (complete answers that were searched for), results that were used,
--   arguments by what the schema version that the call was made under says of them (`arguments_valid`,
--   `arguments_invalid`, `arguments_indeterminate`)
-- denominator: `runs_judged` (runs with outcome success or failure; abandoned, handed off and unknown are nobody's
--   verdict), `decisions`, `calls`, `arguments_checked` (calls made under a schema that was known),
--   `utilisation_denominator`, `tools_visible`
-- grain: one row, or one per week with $by_week: runs by the run's week, decisions by the decision's, calls by the call's
-- excludes: from `arguments_checked` calls without a verdict on their arguments; records without known times stand under week 'unknown'; results whose use could not be measured (a
--   limit was met, or the result was cut off) stand in `not_measurable` and in no denominator
-- optional: source, week
with run_totals as (
    select
        case when $by_week then week else 'all' end as week,
        count(*) as runs,
        count(*) filter (where run_outcome in ('success', 'failure')) as runs_judged,
        count(*) filter (where run_outcome = 'success') as runs_succeeded,
        count(*) filter (where run_outcome = 'failure') as runs_failed
    from runs
    where ($source is null or source = $source) and ($week is null or week = $week)
    group by 1
),
decision_totals as (
    select
        case when $by_week then d.week else 'all' end as week,
        count(*) as decisions,
        count(*) filter (where c.decision_id is not null) as decisions_with_call
    from decisions as d
    left join (select distinct decision_id from calls) as c on c.decision_id = d.decision_id
    where ($source is null or d.source = $source) and ($week is null or d.week = $week)
    group by 1
),
visible_tools as (
    select week, count(*) as tools_visible
    from (
        select distinct case when $by_week then d.week else 'all' end as week, m.server, m.tool
        from (
            select distinct toolset_digest, week from decisions
            where ($source is null or source = $source) and ($week is null or week = $week)
        ) as d
        join toolset_members as m on m.toolset_digest = d.toolset_digest
    ) as seen
    group by 1
),
called_tools as (
    select week, count(*) as tools_called
    from (
        select distinct case when $by_week then week else 'all' end as week, server, tool from calls
        where ($source is null or source = $source) and ($week is null or week = $week)
    ) as called
    group by 1
),
call_totals as (
    select
        case when $by_week then week else 'all' end as week,
        count(*) as calls,
        count(*) filter (where answered and outcome in ('succeeded', 'empty')) as good,
        count(*) filter (where is_error) as errors,
        count(*) filter (where is_timeout) as timeouts,
        count(*) filter (where is_cut) as indeterminate,
        count(*) filter (where rejected) as rejected,
        count(*) filter (where outcome = 'pending') as pending,
        count(*) filter (where outcome = 'unknown_commit') as unknown_commits,
        count(*) filter (where identical_repeat) as identical_repeats,
        count(*) filter (where validity is not null) as arguments_checked,
        count(*) filter (where validity = 'valid') as arguments_valid,
        count(*) filter (where validity = 'invalid') as arguments_invalid,
        count(*) filter (where validity = 'indeterminate') as arguments_indeterminate,
        count(*) filter (where in_denominator) as utilisation_denominator,
        count(*) filter (where in_denominator and (in_arguments or in_answer)) as utilisation_either,
        count(*) filter (where measurable) as measured,
        count(*) filter (where not_measurable) as not_measurable
    from call_facts
    where ($source is null or source = $source) and ($week is null or week = $week)
    group by 1
),
named as (
    -- Without weeks there is always one row, on an empty database too.
    select 'all' as week where not $by_week
    union select week from run_totals
    union select week from decision_totals
    union select week from call_totals
)
select
    n.week,
    coalesce(r.runs, 0) as runs,
    coalesce(r.runs_judged, 0) as runs_judged,
    coalesce(r.runs_succeeded, 0) as runs_succeeded,
    coalesce(r.runs_failed, 0) as runs_failed,
    coalesce(d.decisions, 0) as decisions,
    coalesce(d.decisions_with_call, 0) as decisions_with_call,
    coalesce(v.tools_visible, 0) as tools_visible,
    coalesce(t.tools_called, 0) as tools_called,
    coalesce(c.calls, 0) as calls,
    coalesce(c.good, 0) as good,
    coalesce(c.errors, 0) as errors,
    coalesce(c.timeouts, 0) as timeouts,
    coalesce(c.indeterminate, 0) as indeterminate,
    coalesce(c.rejected, 0) as rejected,
    coalesce(c.pending, 0) as pending,
    coalesce(c.unknown_commits, 0) as unknown_commits,
    coalesce(c.identical_repeats, 0) as identical_repeats,
    coalesce(c.arguments_checked, 0) as arguments_checked,
    coalesce(c.arguments_valid, 0) as arguments_valid,
    coalesce(c.arguments_invalid, 0) as arguments_invalid,
    coalesce(c.arguments_indeterminate, 0) as arguments_indeterminate,
    coalesce(c.utilisation_denominator, 0) as utilisation_denominator,
    coalesce(c.utilisation_either, 0) as utilisation_either,
    coalesce(c.measured, 0) as measured,
    coalesce(c.not_measurable, 0) as not_measurable
from named as n
left join run_totals as r on r.week = n.week
left join decision_totals as d on d.week = n.week
left join visible_tools as v on v.week = n.week
left join called_tools as t on t.week = n.week
left join call_totals as c on c.week = n.week
order by n.week
