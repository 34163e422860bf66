-- question: what became of everything that was sent here? Counts name nobody, so they stay.
insert into purge_draft.ingest by name
select * from ingest;
