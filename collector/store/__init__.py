"""The DuckDB file: its tables, the one way to write them, and the named queries that read them."""
