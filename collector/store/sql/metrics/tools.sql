-- question: how is each tool doing (in each week)?
-- numerator: decisions and calls by what became of them: `selected_visible` of `selection_rate`; calls that were `good` (a
--   whole answer of outcome succeeded or empty; what is neither good nor in error is not known to be good), rejected
--   (stopped by an enforced gate), in error (the observation says so: error, business_error, raised, invalid), timed out,
--   indeterminate (result cut off), unknown commits, identical repeats (same run, tool and arguments as an earlier call);
--   `arguments_valid`, `arguments_invalid` and `arguments_indeterminate` (the raw arguments as proposed, held against the
--   schema version that the call was made under; indeterminate ones may be either and count as neither);
--   `measured` results (complete answers that were searched for), and those of them of which a new value reappears in a
--   later argument or answer
-- denominator: `visible` (decisions in which the tool was known to be visible) for `selection_rate`; `calls` (distinct
--   call ids); `arguments_checked` (calls made under a schema that was known, the sum of those three);
--   `utilisation_denominator` (complete answers without error with at least one new informative value); `runs`
--   (runs with at least one call of the tool); `runs_judged` (those of them with outcome success or failure)
-- grain: server, tool, week of the call (visible and selected: of the decision); week is 'all' unless $by_week
-- excludes: calls without a verdict on their arguments, which are in no `arguments_checked`;
--   decisions of which it is not known what was visible count as selected, not as visible; results whose use
--   could not be measured (a limit was met, or the result was cut off) stand in `not_measurable` and in no denominator
-- optional: source, week
with offered as (
    select toolset_digest, case when $by_week then week else 'all' end as week, count(*) as decisions
    from decisions
    where toolset_digest is not null and ($source is null or source = $source) and ($week is null or week = $week)
    group by 1, 2
),
facts as (
    select
        *,
        case when $by_week then week else 'all' end as call_period,
        case when $by_week then decision_week else 'all' end as decision_period
    from call_facts
    where ($source is null or source = $source)
),
visible as (
    select server, tool, week, sum(decisions) as visible
    from (
        select m.server, m.tool, o.week, o.decisions
        from offered as o join toolset_members as m on m.toolset_digest = o.toolset_digest
        union all
        -- Seen by the call's own word in a decision whose toolset does not tell.
        select server, tool, decision_period, count(distinct decision_id)
        from facts
        where known_visible and not in_toolset and ($week is null or decision_week = $week)
        group by 1, 2, 3
    ) as either
    group by 1, 2, 3
),
selected as (
    select
        server, tool, decision_period as week,
        count(distinct decision_id) as selected,
        count(distinct decision_id) filter (where known_visible) as selected_visible
    from facts
    where ($week is null or decision_week = $week)
    group by 1, 2, 3
),
called as (
    select
        f.server, f.tool, f.call_period as week,
        count(*) as calls,
        count(*) filter (where outcome = 'succeeded') as succeeded,
        count(*) filter (where outcome = 'business_rejected') as business_rejected,
        count(*) filter (where rejected) as rejected,
        count(*) filter (where outcome = 'pending') as pending,
        sum(attempts) as attempts,
        count(*) filter (where answered and outcome in ('succeeded', 'empty')) as good,
        count(*) filter (where is_error) as errors,
        count(*) filter (where is_timeout) as timeouts,
        count(*) filter (where is_cut) as indeterminate,
        count(*) filter (where outcome = 'unknown_commit') as unknown_commits,
        count(*) filter (where identical_repeat) as identical_repeats,
        count(*) filter (where validity is not null) as arguments_checked,
        count(*) filter (where validity = 'valid') as arguments_valid,
        count(*) filter (where validity = 'invalid') as arguments_invalid,
        count(*) filter (where validity = 'indeterminate') as arguments_indeterminate,
        count(*) filter (where in_denominator) as utilisation_denominator,
        count(*) filter (where in_denominator and in_arguments) as utilisation_in_arguments,
        count(*) filter (where in_denominator and in_answer) as utilisation_in_answer,
        count(*) filter (where in_denominator and (in_arguments or in_answer)) as utilisation_either,
        count(*) filter (where measurable) as measured,
        count(*) filter (where not_measurable) as not_measurable,
        count(distinct f.run_id) as runs,
        count(distinct f.run_id) filter (where r.run_outcome in ('success', 'failure')) as runs_judged,
        count(distinct f.run_id) filter (where r.run_outcome = 'success') as runs_succeeded
    from facts as f left join runs as r on r.run_id = f.run_id
    where ($week is null or f.week = $week)
    group by 1, 2, 3
),
named as (
    select server, tool, week from visible
    union select server, tool, week from selected
    union select server, tool, week from called
)
select
    n.server, n.tool, n.week,
    cast(coalesce(v.visible, 0) as bigint) as visible,
    coalesce(s.selected, 0) as selected,
    coalesce(s.selected_visible, 0) as selected_visible,
    case when v.visible > 0 then cast(coalesce(s.selected_visible, 0) as double) / cast(v.visible as double) end as selection_rate,
    coalesce(c.calls, 0) as calls,
    coalesce(c.succeeded, 0) as succeeded,
    coalesce(c.business_rejected, 0) as business_rejected,
    coalesce(c.rejected, 0) as rejected,
    coalesce(c.pending, 0) as pending,
    cast(coalesce(c.attempts, 0) as bigint) as attempts,
    coalesce(c.good, 0) as good,
    coalesce(c.errors, 0) as errors,
    coalesce(c.timeouts, 0) as timeouts,
    coalesce(c.indeterminate, 0) as indeterminate,
    coalesce(c.unknown_commits, 0) as unknown_commits,
    coalesce(c.identical_repeats, 0) as identical_repeats,
    coalesce(c.arguments_checked, 0) as arguments_checked,
    coalesce(c.arguments_valid, 0) as arguments_valid,
    coalesce(c.arguments_invalid, 0) as arguments_invalid,
    coalesce(c.arguments_indeterminate, 0) as arguments_indeterminate,
    coalesce(c.utilisation_denominator, 0) as utilisation_denominator,
    coalesce(c.utilisation_in_arguments, 0) as utilisation_in_arguments,
    coalesce(c.utilisation_in_answer, 0) as utilisation_in_answer,
    coalesce(c.utilisation_either, 0) as utilisation_either,
    coalesce(c.measured, 0) as measured,
    coalesce(c.not_measurable, 0) as not_measurable,
    coalesce(c.runs, 0) as runs,
    coalesce(c.runs_judged, 0) as runs_judged,
    coalesce(c.runs_succeeded, 0) as runs_succeeded
from named as n
left join visible as v on v.server = n.server and v.tool = n.tool and v.week = n.week
left join selected as s on s.server = n.server and s.tool = n.tool and s.week = n.week
left join called as c on c.server = n.server and c.tool = n.tool and c.week = n.week
order by coalesce(c.calls, 0) desc, n.server, n.tool, n.week
