-- question: which calls may have changed the world, how does each stand, and was the same tried again? One row a call id.
create view submissions as
with written as (
    select * from calls where side_effect <> 'read'
),
-- An attempt and its announcement are one; `one_key`: every attempt is known to have carried the same idempotency key.
tried as (
    select
        call_id,
        case when record = 'attempt_start' then coalesce(parent_span_id, span_id) else span_id end as part,
        max(key_digest) as key_digest
    from spans
    where record in ('attempt', 'attempt_start')
    group by 1, 2
),
keyed as (
    select call_id, count(*) = count(key_digest) and count(distinct key_digest) = 1 as one_key
    from tried
    group by 1
),
ran as (
    select
        *,
        case
            when outcome in ('succeeded', 'partial', 'empty') then 'done'
            when outcome in ('unknown_commit', 'indeterminate', 'pending') then 'open'
            else 'no'
        end as took
    from calls
    where outcome not in ('rejected', 'skipped')
),
-- Later calls with the same arguments in the run, or for the same action in any; ordinals begin anew where a run goes on in
-- another process, so times come first.
again as (
    select u.call_id, l.call_id as later, l.took, l.t0_ns, l.key_digest
    from written as u
    join ran as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool and l.arguments_digest = u.arguments_digest
        and (l.t0_ns > u.t0_ns or (l.t0_ns = u.t0_ns and l.call_ordinal > u.call_ordinal))
    union all
    select u.call_id, l.call_id as later, l.took, l.t0_ns, l.key_digest
    from written as u
    join ran as l on l.action_id = u.action_id and l.call_id <> u.call_id and l.t0_ns > u.t0_ns
),
repeated as (
    select
        a.call_id,
        arg_min(a.later, {'place': case a.took when 'done' then 1 when 'open' then 2 else 3 end, 't0_ns': a.t0_ns, 'later': a.later})
            as repeated_by,
        case when bool_or(a.took = 'done') then 'done' when bool_or(a.took = 'open') then 'open' else 'no' end as repeat_took,
        bool_or(w.settled in ('no_finding', 'still_unknown') or a.t0_ns < w.found_ns) as before_settled,
        bool_or(w.settled = 'committed' and a.t0_ns >= w.found_ns) as after_committed,
        -- A tool that is idempotent by its key does the same once, however often it is asked with that key.
        bool_and(w.idempotent = 'yes' and w.key_digest is not null and coalesce(a.key_digest = w.key_digest, false)) as same_key
    from again as a
    join written as w on w.call_id = a.call_id
    group by 1
),
followed as (
    select distinct u.call_id
    from written as u
    join calls as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool
        and (l.t0_ns > u.t0_ns or (l.t0_ns = u.t0_ns and l.call_ordinal > u.call_ordinal))
),
judged as (
    select
        w.*,
        coalesce(k.one_key, w.attempts = 0 and w.key_digest is not null) as one_key,
        w.arguments_digest is not null or w.action_id is not null as repeats_known,
        r.repeated_by,
        coalesce(r.repeat_took, 'no') as repeat_took,
        coalesce(r.same_key, false) as same_key,
        f.call_id is not null as followed_by_same_tool,
        w.settled <> 'no_finding' or w.outcome in ('unknown_commit', 'indeterminate')
            or (w.outcome = 'pending' and w.attempts > 0) as doubted,
        coalesce(r.before_settled, false) as before_settled,
        coalesce(r.after_committed, false) as after_committed
    from written as w
    left join keyed as k on k.call_id = w.call_id
    left join repeated as r on r.call_id = w.call_id
    left join followed as f on f.call_id = w.call_id
),
told as (
    select
        *,
        doubted and before_settled as duplicate_risk,
        doubted and after_committed as duplicate,
        outcome in ('succeeded', 'partial', 'empty') and earlier_effect = 'possible' and not (idempotent = 'yes' and one_key)
            as retried_in_doubt
    from judged
)
select
    t.*,
    r.task, r.session, r.agent,
    case
        when t.outcome in ('unknown_commit', 'indeterminate', 'pending') then 'unsettled'
        when t.retried_in_doubt then 'twice'
        when t.outcome in ('succeeded', 'partial', 'empty') and (t.duplicate_risk or t.duplicate)
            and t.repeat_took in ('done', 'open') and not t.same_key then 'twice'
        when t.outcome in ('failed', 'partial', 'business_rejected', 'cancelled') then 'failed'
        when t.outcome in ('rejected', 'skipped') then 'stopped'
        else 'done'
    end as state
from told as t
left join runs as r on r.run_id = t.run_id;
