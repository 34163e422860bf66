-- question: what else does the file say of itself?
insert into purge_draft.meta by name
select * from meta where key not in (select key from purge_draft.meta);
