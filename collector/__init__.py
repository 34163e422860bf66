"""What receives spans, reads files and keeps both in one DuckDB file."""
