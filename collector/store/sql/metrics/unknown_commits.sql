-- question: of which calls is (or was) it not known whether they took effect, and was anything like them tried again?
-- numerator: calls with outcome unknown_commit, and calls that a reconciliation has been about; `duplicate_risk`: a later
--   call with the same arguments in the run, or with the same action id, before it was settled; `duplicate`: one after it
--   was found to be committed; `repeat_unknown`: a later call of the tool in the run, where the arguments of either are not
--   known; `followed_by_same_tool`: any later call of the tool in the run; `retried_in_doubt`: it was itself attempted again
--   after an attempt that may have taken effect
-- denominator: `calls` of the query `totals`
-- grain: call, oldest first; age in seconds at $now_ns since the call's start, null where the time is not known
-- excludes: from repeats, later calls that only read or are known to have had no effect (rejected, skipped, cancelled,
--   failed, business_rejected)
-- optional: source
with doubtful as (
    select * from calls
    where (outcome = 'unknown_commit' or settled <> 'no_finding') and ($source is null or source = $source)
),
-- when it was first said what holds now
settling as (
    select u.call_id, min(r.start_ns) as settled_ns
    from doubtful as u
    join spans as r on r.call_id = u.call_id and r.finding = u.settled
    where r.record = 'reconciliation'
    group by u.call_id
),
repeatable as (
    select u.*, s.settled_ns
    from doubtful as u
    left join settling as s on s.call_id = u.call_id
),
may_have_done as (
    select * from calls
    where side_effect <> 'read' and outcome not in ('rejected', 'skipped', 'cancelled', 'failed', 'business_rejected')
),
-- Ordinals begin again in each process that a run goes on in, so time goes first.
again as (
    select
        u.call_id, u.settled, u.settled_ns, l.started_ns,
        -- A key that was derived is of the arguments; where neither tells, nobody knows.
        coalesce(l.arguments_digest = u.arguments_digest, case when l.key_digest = u.key_digest then true end) as same
    from repeatable as u
    join may_have_done as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool
        and (l.started_ns > u.started_ns or (l.started_ns = u.started_ns and l.call_ordinal > u.call_ordinal))
    union all
    select u.call_id, u.settled, u.settled_ns, l.started_ns, true as same
    from repeatable as u
    join may_have_done as l
        on l.action_id = u.action_id and l.call_id <> u.call_id
        and (l.started_ns > u.started_ns or (l.started_ns = u.started_ns and l.call_id > u.call_id))
),
repeated as (
    select
        call_id,
        count(*) filter (where same and (settled in ('no_finding', 'still_unknown') or started_ns < settled_ns)) > 0
            as duplicate_risk,
        count(*) filter (where same and settled = 'committed' and started_ns >= settled_ns) > 0 as duplicate,
        count(*) filter (where same is null) > 0 as repeat_unknown
    from again group by 1
),
followed as (
    select distinct u.call_id
    from doubtful as u
    join calls as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool
        and (l.started_ns > u.started_ns or (l.started_ns = u.started_ns and l.call_ordinal > u.call_ordinal))
)
select
    u.run_id as run, u.source, u.server, u.tool, u.via, u.decision_id as decision, u.call_id as call, u.call_ordinal,
    u.outcome,
    case when u.time_known then cast($now_ns - u.started_ns as double) / cast(1000000000 as double) end as age_s,
    f.call_id is not null as followed_by_same_tool,
    coalesce(a.duplicate_risk, false) as duplicate_risk,
    coalesce(a.duplicate, false) as duplicate,
    coalesce(a.repeat_unknown, false) as repeat_unknown,
    u.earlier_effect = 'possible' as retried_in_doubt,
    u.key_digest, u.action_id, u.settled, u.found_by, u.week,
    case when u.time_known then u.started_ns end as started_ns
from doubtful as u
left join repeated as a on a.call_id = u.call_id
left join followed as f on f.call_id = u.call_id
order by u.time_known desc, u.started_ns, u.run_id, u.call_ordinal
