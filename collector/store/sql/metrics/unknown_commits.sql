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
select
    u.run_id as run, u.source, u.server, u.tool, u.via, u.decision_id as decision, u.call_id as call, u.call_ordinal,
    u.outcome,
    case when u.time_known then cast($now_ns - u.started_ns as double) / cast(1000000000 as double) end as age_s,
    coalesce(a.followed_by_same_tool, false) as followed_by_same_tool,
    coalesce(a.duplicate_risk, false) as duplicate_risk,
    coalesce(a.duplicate, false) as duplicate,
    coalesce(a.repeat_unknown, false) as repeat_unknown,
    u.earlier_effect = 'possible' and greatest(u.attempts, coalesce(u.attempts_made, 0)) > 1 as retried_in_doubt,
    u.key_digest, u.action_id, u.settled, u.found_by, u.week,
    case when u.time_known then u.started_ns end as started_ns
from calls as u
left join repeated_calls as a on a.call_id = u.call_id
where (u.outcome = 'unknown_commit' or u.settled <> 'no_finding') and ($source is null or u.source = $source)
order by u.time_known desc, u.started_ns, u.run_id, u.call_ordinal
