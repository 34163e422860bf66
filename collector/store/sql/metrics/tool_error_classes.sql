-- question: of which classes are each tool's errors (in each week)?
-- numerator: calls whose observation says error, by error class; a call without one is 'unclassified'
-- denominator: `errors` of the same tool (and week) in the query `tools`; the classes add up to it
-- grain: server, tool, week of the call ('all' unless $by_week), error_class
-- excludes: timeouts and cut-off results, which are counted apart from errors
-- optional: source
select
    server, tool,
    case when $by_week then week else 'all' end as week,
    coalesce(error_class, 'unclassified') as error_class,
    count(*) as errors
from call_facts
where is_error and ($source is null or source = $source)
group by 1, 2, 3, 4
order by 1, 2, 3, 5 desc, 4
