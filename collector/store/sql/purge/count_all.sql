-- question: how large are the tables that grow, and where does the last span stand?
select
    (select count(*) from spans) as spans,
    (select coalesce(max(rowid) + 1, 0) from spans) as places,
    (select count(*) from calls) as calls;
