-- question: what did the redactor at the door make of everything that came in? Counts name nobody's runs, so they stay.
insert into purge_draft.redactions by name
select * from redactions;
