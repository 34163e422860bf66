"""Replay: what was recorded, read back as tables and as runs rebuilt step by step.

    from toolwitness.replay.load import open_source
    from toolwitness.replay import metrics, runs

    with open_source("toolwitness.duckdb") as source:
        metrics.tool_health(source)            # polars frame, one row per (server, tool)
        replay = runs.replay_run(source, "9f3c")   # a run by its id or a unique prefix of it

`load`         `open_source(db)` -> `Source`; `Source.query(name, **params)` -> polars frame; `open_ledger(db)` the same for
               storing findings; `use(source)` and `current()` for the pages of one process.
`metrics`      named figures as frames (`tool_health`, `tool_calls`, `runs`, `failed_runs`, `unknown_commits`, `overview`,
               `weekly_totals`, ...) and `tool_rows` as dicts.
`runs`         `run_ids`; `find_run(source, prefix)` -> run id; `replay_run(source, run)` -> `RunReplay`.
`submissions`  `submissions(source, run=, task=, tool=, ...)` -> writing calls that are unsettled, may be done twice, failed or
               were stopped; `submission(source, call)`; `advice`: whether a retry is safe; `accounts`: what to say of one.
`handover`     `handover(source, run)` -> what a run leaves; `triage_view`, `handover_view`: both for a terminal.
`steps`        what a replay consists of: `RunReplay`, `StepReplay`, `CallReplay`, `GateReplay`, `AttemptReplay`, ...
`reconstruct`  pure: rows of the replay queries -> `RunReplay`; `doubts`: what those rows do not tell.
`tables`       tool health and runs for a terminal; `transcript`: a replay for a terminal.
`reconcile`    the ledger of calls in doubt: `find_call`, `settle(source, call, finding, by=, reason=)`.
`asking`       `due_calls`, and `ask(source, due, making)`: what the registered status queries answer; `ledger_view` shows both.
`honest`       why there is no figure or no later use: words in place of a zero or a blank.
`metric_docs`  docs/metrics.md from the headers of the SQL files.
"""
