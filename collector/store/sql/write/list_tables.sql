-- question: which tables does this file hold?
select table_name from duckdb_tables() where not temporary;
