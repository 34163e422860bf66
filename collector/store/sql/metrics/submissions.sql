-- question: which calls that may have changed the world are unsettled, may have been done twice, failed or were stopped?
-- numerator: calls by state: `unsettled` (unknown_commit, indeterminate, pending); `twice` (took effect after an attempt or
--   beside a call of the same that may have too, unless an idempotent tool was given one key); `failed` (failed, partial,
--   business_rejected, cancelled); `stopped` (rejected, skipped); `done` (succeeded, empty)
-- denominator: `submission_states` with the same filters
-- grain: call; unsettled first, then twice, each oldest first, then failed, stopped and done, each newest first; age in
--   seconds at $now_ns since the call's start, null where the time is not known; `repeated_by` is a later call with the same
--   arguments in the run or with the same action id that took effect (`repeat_took`: done) or may have (open);
--   `repeat_unknown`: a later call of the tool in the run, where the arguments of either are not known
-- excludes: calls of tools known to be reading; with $since_ns or $until_ns calls whose time is not known; $run and $call are
--   beginnings of ids, $tool is a name or `server/name`, $search is found in the ids of run, call and action, in task, session or
--   `server/name`, $states are words with commas between them; `total` counts the calls before $limit cuts the list
-- optional: source, search, run, call, task, session, action, tool, since_ns, until_ns, states, limit
with wanted as (
    select
        *,
        count(*) over () as total,
        row_number() over (
            order by
                case state when 'unsettled' then 1 when 'twice' then 2 when 'failed' then 3 when 'stopped' then 4 else 5 end,
                time_known desc,
                case when state in ('unsettled', 'twice') or not time_known then started_ns else -started_ns end,
                run_id, call_ordinal, call_id
        ) as place
    from submissions
    where ($source is null or source = $source)
        and ($run is null or starts_with(run_id, $run))
        and ($call is null or starts_with(call_id, $call))
        and ($task is null or task = $task)
        and ($session is null or session = $session)
        and ($action is null or action_id = $action)
        and ($tool is null or tool = $tool or concat(server, '/', tool) = $tool)
        and (
            $search is null
            or position(lower($search) in lower(run_id)) > 0
            or position(lower($search) in lower(call_id)) > 0
            or position(lower($search) in lower(task)) > 0
            or position(lower($search) in lower(session)) > 0
            or position(lower($search) in lower(action_id)) > 0
            or position(lower($search) in lower(concat(server, '/', tool))) > 0
        )
        and ($since_ns is null or (time_known and started_ns >= $since_ns))
        and ($until_ns is null or (time_known and started_ns < $until_ns))
        and ($states is null or list_contains(string_split($states, ','), state))
    order by place
    limit $limit
)
select
    w.call_id as call, w.run_id as run, w.source, w.task, w.session, w.agent, w.server, coalesce(w.tool, '(unknown)') as tool,
    w.owner, w.tool_owner, w.side_effect, w.idempotent, w.state, w.outcome, w.observation, w.error_class, w.vendor_code, w.commit_level,
    w.attempts, w.gate_state, w.rejected_by, w.last_effect, w.earlier_effect, w.has_call_span, w.cancellation,
    w.items_total, w.items_failed, w.items_unknown,
    w.arguments_digest, w.key_digest, w.one_key, w.action_id, w.settle_after_s, w.last_ended_ns, w.settled, w.finding, w.found_by, w.found_ns,
    w.followed_by_same_tool, w.duplicate_risk, w.duplicate, w.retried_in_doubt, w.repeat_unknown, w.repeated_by, w.repeat_took,
    a.arguments, a.flags,
    case when w.time_known then cast($now_ns - w.started_ns as double) / cast(1000000000 as double) end as age_s,
    case when w.time_known then w.started_ns end as started_ns,
    w.total
from wanted as w
left join (
    select call_id, arg_max(arguments, end_ns) as arguments, arg_max(flags, end_ns) as flags
    from spans
    where record = 'call' and call_id in (select call_id from wanted)
    group by 1
) as a on a.call_id = w.call_id
order by w.place
