-- question: which tools, under which definitions, were in the toolsets of the run $run?
select
    m.toolset_digest, m.server, m.tool, m.definition_digest, s.schema_digest, s.tool_version, s.side_effect
from toolset_members as m
left join schemas as s on s.definition_digest = m.definition_digest
where m.toolset_digest in (select toolset_digest from decisions where run_id = $run)
order by m.toolset_digest, m.server, m.tool
