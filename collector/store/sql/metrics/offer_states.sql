-- question: had a tool search offered the tool that was then called?
-- numerator: calls by offer state: in the hits of the run's latest search before the call, of an earlier one, or of none
-- denominator: all calls that are no searches themselves, in runs with tool search or through a dispatcher
-- grain: call, in run and call order
-- excludes: the searches themselves; calls in runs that have neither a search nor a dispatcher
-- optional: source
with searches as (
    select
        s.call_id, c.run_id, c.call_ordinal,
        coalesce(s.discovery_hits, '[]') as hits
    from spans as s join calls as c on c.call_id = s.call_id
    where s.record = 'call' and (s.discovery_hits is not null or s.discovery_query is not null or s.catalog_digest is not null)
),
hits as (
    select distinct run_id, call_ordinal, hit.server as server, hit.tool as tool
    from (
        select run_id, call_ordinal, unnest(from_json(hits, '[{"server": "VARCHAR", "tool": "VARCHAR"}]')) as hit from searches
    ) as each_hit
),
asked as (
    select c.* from calls as c
    where (c.via is not null or c.run_id in (select run_id from searches))
        and c.call_id not in (select call_id from searches)
        and ($source is null or c.source = $source)
),
latest as (
    select a.call_id, max(s.call_ordinal) as call_ordinal
    from asked as a join searches as s on s.run_id = a.run_id and s.call_ordinal < a.call_ordinal
    group by 1
),
offered as (
    select a.call_id, max(h.call_ordinal) as call_ordinal
    from asked as a
    join hits as h on h.run_id = a.run_id and h.server = a.server and h.tool = a.tool and h.call_ordinal < a.call_ordinal
    group by 1
)
select
    a.run_id as run, a.decision_id as decision, a.call_id as call, a.call_ordinal, a.server, a.tool, a.via, a.outcome,
    case
        when o.call_ordinal is null then 'never_offered_by_a_search'
        when o.call_ordinal = l.call_ordinal then 'in_last_search_hits'
        else 'in_earlier_search_hits'
    end as offer_state
from asked as a
left join latest as l on l.call_id = a.call_id
left join offered as o on o.call_id = a.call_id
order by a.run_id, a.call_ordinal
