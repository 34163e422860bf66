-- question: what is known of the calls whose id starts with $prefix, and of what was found out about them, oldest first?
--   With $before_ns only of those that may have taken effect without anybody knowing, and that no status query was made for
--   at or after that time.
-- optional: before_ns, limit, source
with chosen as (
    select * from calls
    where starts_with(call_id, $prefix)
        and ($source is null or source = $source)
        and ($before_ns is null or (outcome in ('unknown_commit', 'indeterminate') and side_effect <> 'read'))
),
told as (
    select
        call_id,
        arg_max(arguments, {'start_ns': start_ns, 'span_id': span_id}) filter (where record = 'call') as arguments,
        max(subject) as subject,
        max(start_ns) filter (where method = 'status_query') as asked_ns,
        list(distinct remote_reference) filter (where record = 'attempt' and remote_reference is not null) as remote_references
    from spans
    where record is not null and call_id in (select call_id from chosen)
    group by call_id
)
select
    c.call_id, c.run_id, c.source, c.trace_id, c.span_id, c.server, coalesce(c.tool, '(unknown)') as tool, c.registered,
    c.side_effect, c.idempotent, c.owner, c.settle_after_s, c.key_digest, c.action_id, c.node, c.attempts, c.gate_state, c.last_attempt,
    c.last_effect, c.earlier_effect, c.observation, c.age, c.settled, c.outcome, c.finding, c.found_by, c.found_ns,
    c.time_known, c.started_ns, c.last_attempt_ns, c.last_begun_ns, c.last_ended_ns,
    r.task, r.session, t.arguments, t.subject, t.asked_ns, t.remote_references
from chosen as c
left join told as t on t.call_id = c.call_id
left join runs as r on r.run_id = c.run_id
where $before_ns is null or t.asked_ns is null or t.asked_ns < $before_ns
order by c.time_known desc, c.started_ns, c.call_id
limit $limit
