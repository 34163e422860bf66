-- question: of which calls is (or was) it not known whether they took effect, and was anything like them tried again?
-- numerator: calls with outcome unknown_commit, and calls that a reconciliation has been about; `duplicate_risk`: a later
--   call with the same arguments in the run, or with the same action id, before it was settled; `duplicate`: one after it
--   was found to be committed; `followed_by_same_tool`: any later call of the tool in the run
-- denominator: `calls` of the query `totals`
-- grain: call, oldest first; age in seconds at $now_ns since the call's start, null where the time is not known
-- excludes: later calls that a gate rejected or that were skipped, since nothing ran
-- optional: source
with doubtful as (
    select * from calls
    where (outcome = 'unknown_commit' or settled <> 'no_finding') and ($source is null or source = $source)
),
ran as (
    select * from calls where outcome not in ('rejected', 'skipped')
),
again as (
    select u.call_id, u.settled, u.found_ns, l.t0_ns
    from doubtful as u
    join ran as l
        on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool
        and l.arguments_digest = u.arguments_digest and l.call_ordinal > u.call_ordinal
    union all
    select u.call_id, u.settled, u.found_ns, l.t0_ns
    from doubtful as u
    join ran as l on l.action_id = u.action_id and l.call_id <> u.call_id and l.t0_ns > u.t0_ns
),
repeated as (
    select
        call_id,
        count(*) filter (where settled in ('no_finding', 'still_unknown') or t0_ns < found_ns) > 0 as duplicate_risk,
        count(*) filter (where settled = 'committed' and t0_ns >= found_ns) > 0 as duplicate
    from again group by 1
),
followed as (
    select distinct u.call_id
    from doubtful as u
    join calls as l on l.run_id = u.run_id and l.server = u.server and l.tool = u.tool and l.call_ordinal > u.call_ordinal
)
select
    u.run_id as run, u.source, u.server, u.tool, u.via, u.decision_id as decision, u.call_id as call, u.call_ordinal,
    u.outcome,
    case when u.time_known then cast($now_ns - u.started_ns as double) / cast(1000000000 as double) end as age_s,
    f.call_id is not null as followed_by_same_tool,
    coalesce(a.duplicate_risk, false) as duplicate_risk,
    coalesce(a.duplicate, false) as duplicate,
    u.key_digest, u.action_id, u.settled, u.found_by, u.week,
    case when u.time_known then u.started_ns end as started_ns
from doubtful as u
left join repeated as a on a.call_id = u.call_id
left join followed as f on f.call_id = u.call_id
order by u.time_known desc, u.started_ns, u.run_id, u.call_ordinal
