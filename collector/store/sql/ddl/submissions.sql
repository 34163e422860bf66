-- question: which calls may have changed the world, and how does each stand? One row a call id.
create view submissions as
-- An attempt and its announcement are one; `one_key`: every attempt is known to have carried the same idempotency key.
with tried as (
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
-- Whom the latest call of a tool names: where a process died, the call's own word is lost.
owners as (
    select server, tool, arg_max(owner, started_ns) as tool_owner
    from calls
    where owner is not null
    group by 1, 2
),
judged as (
    select
        c.*,
        o.tool_owner,
        coalesce(k.one_key, c.attempts = 0 and c.key_digest is not null) as one_key,
        -- What was answered well at once was never in doubt, whatever came after it.
        c.settled <> 'no_finding' or c.outcome in ('unknown_commit', 'indeterminate')
            or (c.outcome = 'pending' and c.attempts > 0) as doubted,
        coalesce(r.followed_by_same_tool, false) as followed_by_same_tool,
        coalesce(r.duplicate_risk, false) as asked_again_unsettled,
        coalesce(r.duplicate, false) as asked_again_committed,
        coalesce(r.repeat_unknown, false) as repeat_unknown,
        r.repeated_by,
        coalesce(r.repeat_took, 'no') as repeat_took,
        coalesce(r.same_key, false) as same_key,
        c.outcome in ('succeeded', 'partial', 'empty') and c.earlier_effect = 'possible'
            -- a gateway's 5xx leaves open what was done behind it, which is no second try
            and greatest(c.attempts, coalesce(c.attempts_made, 0)) > 1
            and not (c.idempotent = 'yes' and coalesce(k.one_key, false)) as retried_in_doubt
    from calls as c
    left join keyed as k on k.call_id = c.call_id
    left join repeated_calls as r on r.call_id = c.call_id
    left join owners as o on o.server = c.server and o.tool = c.tool
    where c.side_effect <> 'read'
),
told as (
    select
        *,
        doubted and asked_again_unsettled as duplicate_risk,
        doubted and asked_again_committed as duplicate
    from judged
)
select
    t.*,
    r.task, r.session, r.agent,
    case
        when t.outcome in ('unknown_commit', 'indeterminate', 'pending') then 'unsettled'
        when t.retried_in_doubt then 'twice'
        when t.outcome in ('succeeded', 'partial', 'empty') and (t.duplicate_risk or t.duplicate) and not t.same_key then 'twice'
        when t.outcome in ('failed', 'partial', 'business_rejected', 'cancelled') then 'failed'
        when t.outcome in ('rejected', 'skipped') then 'stopped'
        when t.outcome in ('succeeded', 'empty') then 'done'
        else 'unsettled'
    end as state
from told as t
left join runs as r on r.run_id = t.run_id;
