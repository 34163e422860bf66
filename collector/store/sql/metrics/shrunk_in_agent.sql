-- question: of which stored spans had content to stay in the agent because it could not be redacted there?
-- numerator: stored spans that say so, by the reason they give: error, size, time or depth
-- denominator: `stored`, all stored spans of the same service and scope
-- grain: reason, service, scope (empty where not known)
-- excludes: spans that never arrived; what the collector's own redactor could not handle stands in the query `redactions`
with senders as (
    select
        coalesce(service, '') as service, coalesce(scope, '') as scope, minimal as reason, count(*) as spans
    from spans
    group by 1, 2, 3
),
totals as (
    select service, scope, cast(sum(spans) as bigint) as stored from senders group by 1, 2
)
select s.reason, s.service, s.scope, s.spans, t.stored
from senders as s
join totals as t on t.service = s.service and t.scope = s.scope
where s.reason is not null
order by s.spans desc, s.reason, s.service, s.scope
