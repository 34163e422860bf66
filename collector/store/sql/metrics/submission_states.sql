-- question: how many calls that may have changed the world are there, by how they stand?
-- numerator: calls by the states of the query `submissions`
-- denominator: all calls of tools that are not known to be reading; the states add up to it
-- grain: state
-- excludes: as `submissions` with the same filters
-- optional: source, search, run, call, task, session, action, tool, since_ns, until_ns
select state, count(*) as calls
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
group by 1
order by 1
