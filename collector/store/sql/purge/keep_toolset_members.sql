-- question: which members do the toolsets have that stay?
insert into purge_draft.toolset_members by name
select * from toolset_members where toolset_digest in (select toolset_digest from purge_draft.toolsets);
