"""The pages: tool health, failed runs, replay and ingest. A page loads, shapes and draws; figures come from `replay` alone.

While a page's script runs, Streamlit puts this folder first on `sys.path` for the whole process: no file here may be named
like a module of the standard library or of another package (tests/dashboard/test_dashboard_names.py).
"""
