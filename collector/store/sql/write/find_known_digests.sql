-- question: which schemas and toolsets of the group `incoming` are known already? They are sent again and again by design.
select seq from incoming where record = 'schema' and definition_digest in (select definition_digest from schemas)
union all
select seq from incoming where record = 'toolset' and toolset_digest in (select toolset_digest from toolsets);
