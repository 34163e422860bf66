-- question: where do the records come from, and how many runs and calls does each source have?
-- numerator: runs and calls by source: 'live', 'demo', or an import's format
-- denominator: `runs` and `calls` of the query `totals`
-- grain: source
-- excludes: records of other producers that do not say their source
select source, cast(sum(runs) as bigint) as runs, cast(sum(calls) as bigint) as calls
from (
    select source, count(*) as runs, 0 as calls from runs group by 1
    union all
    select source, 0, count(*) from calls group by 1
) as each_kind
where source is not null
group by 1
order by 1
