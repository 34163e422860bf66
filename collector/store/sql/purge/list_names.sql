-- question: which tables and views does this file hold?
select table_name from duckdb_tables() where not temporary and not internal
union
select view_name from duckdb_views() where not temporary and not internal;
