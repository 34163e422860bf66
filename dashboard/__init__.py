"""The pages: tool health, failed runs, submissions, replay and ingest. A page loads, shapes and draws.

Figures come from `replay` alone. One thing is ever written, a person's word about a call (`settling`), by `replay.reconcile`.

While a page's script runs, Streamlit puts this folder first on `sys.path` for the whole process: no file here may be named
like a module of the standard library or of another package (tests/dashboard/test_dashboard_names.py).
"""
