-- question: which calls that may have changed something were asked for again, and what may the later ones have done? One row a
--   call id of those that were followed by another call of the tool, or by one for the same action.
--   `duplicate_risk`: a later call with the same arguments in the run, or with the same action id, before this one was settled;
--   `duplicate`: one after it was found to be committed; `repeat_unknown`: a later call of the tool in the run, where the
--   arguments of either are not known; `repeated_by`: such a later call, rather one that took effect than one that may have;
--   `same_key`: all of them are known to have gone to a tool that is idempotent with this call's own key.
create view repeated_calls as
with written as (
    select * from calls where side_effect <> 'read'
),
-- when it was first said what holds now
settling as (
    select u.call_id, min(r.start_ns) as settled_ns
    from written as u
    join spans as r on r.call_id = u.call_id and r.finding = u.settled
    where r.record = 'reconciliation'
    group by u.call_id
),
repeatable as (
    select u.*, s.settled_ns
    from written as u
    left join settling as s on s.call_id = u.call_id
),
may_have_done as (
    select *, case when outcome in ('succeeded', 'partial', 'empty') then 'done' else 'open' end as took
    from written
    where outcome not in ('rejected', 'skipped', 'cancelled', 'failed', 'business_rejected')
),
-- Ordinals begin again in each process that a run goes on in, so time goes first.
again as (
    select
        u.call_id, u.settled, u.settled_ns, u.idempotent, u.key_digest, l.call_id as later, l.took, l.started_ns,
        l.key_digest as later_key_digest, true as same
    from repeatable as u
    join may_have_done as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool and l.arguments_digest = u.arguments_digest
        and (l.started_ns > u.started_ns or (l.started_ns = u.started_ns and l.call_ordinal > u.call_ordinal))
    union all
    select
        u.call_id, u.settled, u.settled_ns, u.idempotent, u.key_digest, l.call_id as later, l.took, l.started_ns,
        l.key_digest as later_key_digest,
        -- A key that was derived is of the arguments; where neither tells, nobody knows. In two parts, so that neither is a
        -- square of all calls of the tool.
        case when l.key_digest = u.key_digest then true end as same
    from (select * from repeatable where arguments_digest is null) as u
    join may_have_done as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool
        and (l.started_ns > u.started_ns or (l.started_ns = u.started_ns and l.call_ordinal > u.call_ordinal))
    union all
    select
        u.call_id, u.settled, u.settled_ns, u.idempotent, u.key_digest, l.call_id as later, l.took, l.started_ns,
        l.key_digest as later_key_digest, case when l.key_digest = u.key_digest then true end as same
    from (select * from repeatable where arguments_digest is not null) as u
    join (select * from may_have_done where arguments_digest is null) as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool
        and (l.started_ns > u.started_ns or (l.started_ns = u.started_ns and l.call_ordinal > u.call_ordinal))
    union all
    select
        u.call_id, u.settled, u.settled_ns, u.idempotent, u.key_digest, l.call_id as later, l.took, l.started_ns,
        l.key_digest as later_key_digest, true as same
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
        count(*) filter (where same is null) > 0 as repeat_unknown,
        arg_min(later, {'took': took, 'started_ns': started_ns, 'later': later}) filter (where same) as repeated_by,
        min(took) filter (where same) as repeat_took,
        bool_and(idempotent = 'yes' and coalesce(later_key_digest = key_digest, false)) filter (where same) as same_key
    from again
    group by call_id
),
placed as (
    select
        call_id, side_effect,
        rank() over (partition by run_id, server, tool order by started_ns desc, call_ordinal desc) as from_end
    from calls
    where run_id is not null and tool is not null
),
followed as (
    select call_id from placed where from_end > 1 and side_effect <> 'read'
)
select
    coalesce(r.call_id, f.call_id) as call_id,
    f.call_id is not null as followed_by_same_tool,
    coalesce(r.duplicate_risk, false) as duplicate_risk,
    coalesce(r.duplicate, false) as duplicate,
    coalesce(r.repeat_unknown, false) as repeat_unknown,
    r.repeated_by,
    r.repeat_took,
    r.same_key
from repeated as r
full join followed as f on f.call_id = r.call_id;
