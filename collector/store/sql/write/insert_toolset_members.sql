-- question: which members do the new toolsets of the group `incoming` have?
with member as (
    select
        toolset_digest,
        unnest(json_transform(members, '[{"server":"VARCHAR","tool":"VARCHAR","definition_digest":"VARCHAR"}]')) as part
    from incoming
    where record = 'toolset' and toolset_digest is not null
)
insert into toolset_members by name
select
    toolset_digest,
    coalesce(part.server, '') as server,
    part.tool as tool,
    coalesce(part.definition_digest, '') as definition_digest
from member
where part.tool is not null;
