-- question: where do the values of a tool's arguments come from?
-- numerator: scalar argument leaves by origin: user, tool, user+tool, system, default, model, trivial, unknown
-- denominator: all scalar argument leaves of the tool's calls; the origins add up to it
-- grain: server, tool, origin
-- excludes: calls whose provenance was not recorded
-- optional: source
select server, tool, leaf.origin as origin, count(*) as leaves
from (
    select distinct
        call_id, coalesce(server, '') as server, coalesce(tool, '(unknown)') as tool,
        unnest(from_json(provenance, '[{"pointer": "VARCHAR", "origin": "VARCHAR"}]')) as leaf
    from spans where record = 'call' and provenance is not null and ($source is null or source = $source)
) as leaves
group by 1, 2, 3
order by 1, 2, 3
