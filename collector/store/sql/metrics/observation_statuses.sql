-- question: how often does the outer layer's status differ from what really came back?
-- numerator: calls by transport status (what the outer layer said) and observation (the effective status)
-- denominator: all calls of the tool that the model really called
-- grain: called (the dispatcher where there is one, else the tool), transport_status, observation
-- excludes: nothing
-- optional: source
select coalesce(via, tool) as called, transport_status, observation, count(*) as calls
from calls
where ($source is null or source = $source)
group by 1, 2, 3
order by 1, 2, 3
