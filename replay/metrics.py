"""Figures about tools and runs as polars frames, and as plain dicts in the shape that `--json` prints.

Every function takes a `Source` (see `replay.load`) and asks named queries; the words are those of docs/metrics.md. Where a
function takes `origin`, it leaves out every record that says another source (`live`, `demo`, or an import's format; see
`sources`); `week` is an ISO week in UTC such as 2026-W45, or `unknown`; None leaves nothing out. A list that takes `limit`
has a column `total`: how many rows there would be without it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import polars as pl

from toolwitness.replay.load import Source

_UTILISATION = ("denominator", "in_arguments", "in_answer", "either")
_ARGUMENTS = ("checked", "valid", "invalid", "indeterminate")


def iso_time(ns: int | None) -> str | None:
    """A time in nanoseconds since 1970 as ISO 8601 text in UTC, to the millisecond; None stays None."""
    if ns is None:
        return None
    moment = datetime.fromtimestamp(ns // 1_000_000 / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _with_started(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with `started_ns` shown as `started`, ISO 8601 text or null where the time is not known."""
    started = pl.col("started_ns").map_elements(iso_time, return_dtype=pl.String).alias("started")
    return frame.with_columns(started).drop("started_ns")


def tool_health(source: Source, *, by_week: bool = False, origin: str | None = None, week: str | None = None) -> pl.DataFrame:
    """One row per (server, tool), with `by_week` per (server, tool, week); tools that were visible but never called too.

    Calls stand in their own week, `visible` and `selected` in the decision's.

    Columns: server, tool, [week], visible, selected, selected_visible, selection_rate (null where visible is 0), calls,
    succeeded, business_rejected, rejected, pending, attempts, good, errors, timeouts, indeterminate, unknown_commits,
    identical_repeats, arguments_checked (calls made under a schema that was known), arguments_valid, arguments_invalid,
    arguments_indeterminate, utilisation_denominator, utilisation_in_arguments, utilisation_in_answer, utilisation_either,
    measured, not_measurable, runs, runs_judged, runs_succeeded.
    """
    frame = source.query("tools", by_week=by_week, source=origin, week=week)
    return frame if by_week else frame.drop("week")


def tool_error_classes(source: Source, *, by_week: bool = False, origin: str | None = None) -> pl.DataFrame:
    """Errors by class: server, tool, [week], error_class, errors; a tool's rows add up to its `errors`."""
    frame = source.query("tool_error_classes", by_week=by_week, source=origin)
    return frame if by_week else frame.drop("week")


def tool_rows(source: Source, *, by_week: bool = False, origin: str | None = None) -> list[dict[str, Any]]:
    """`tool_health` as dicts, with `error_classes` as {class: n}, and `arguments` and `utilisation` as one dict each."""
    keys = ("server", "tool", "week") if by_week else ("server", "tool")
    classes: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for row in tool_error_classes(source, by_week=by_week, origin=origin).iter_rows(named=True):
        classes[tuple(row[key] for key in keys)][row["error_class"]] = row["errors"]
    rows = []
    for row in tool_health(source, by_week=by_week, origin=origin).iter_rows(named=True):
        used = {word: row.pop(f"utilisation_{word}") for word in _UTILISATION}
        checked = {word: row.pop(f"arguments_{word}") for word in _ARGUMENTS}
        parts = {"error_classes": classes[tuple(row[key] for key in keys)], "arguments": checked, "utilisation": used}
        rows.append({**row, **parts})
    return rows


def tool_calls(
    source: Source,
    server: str,
    tool: str,
    *,
    origin: str | None = None,
    week: str | None = None,
    limit: int | None = None,
) -> pl.DataFrame:
    """The calls of one tool, newest first.

    Columns: run, source, task, trial, run_outcome, decision, call, call_ordinal, via, outcome, ran_although_denied,
    observation, error_class, rejected_by, attempts, arguments (redacted JSON), arguments_valid (valid, invalid,
    indeterminate, or null where the schema is not known), identical_repeat, novel_values, in_arguments, in_answer,
    measurable, duration_ms (null where times are not known), week, total, started.
    """
    wanted = {"source": origin, "week": week, "limit": limit}
    return _with_started(source.query("tool_calls", server=server, tool=tool, **wanted))


def runs(source: Source, *, origin: str | None = None, search: str | None = None, limit: int | None = None) -> pl.DataFrame:
    """One row per run, newest first; runs without known times last, by source, task and trial.

    `search` leaves out runs that have that text, in whatever case, in neither id nor task nor agent.

    Columns: run, source, task, trial, agent, outcome, outcome_source, decisions, calls, problems, unclear, week, total,
    started. `problems` counts calls with outcome partial, business_rejected, rejected, pending, failed, unknown_commit or
    cancelled, and those that ran although an enforced gate denied them; `unclear` the others with outcome indeterminate.
    """
    return _with_started(source.query("runs", source=origin, search=search, limit=limit))


def failed_runs(
    source: Source, *, origin: str | None = None, week: str | None = None, limit: int | None = None
) -> pl.DataFrame:
    """Runs that failed or were abandoned, and runs of unknown outcome with a problem, each with its first problem.

    Columns: run, source, task, trial, agent, outcome, outcome_source, calls, problems, unclear, first_problem (the call's
    outcome, or ran_although_denied, or task_failed_after_ok_calls, or task_failed_without_calls), server, tool,
    observation, error_class, call, decision, call_ordinal, week, total, started. The columns from server to call_ordinal
    are null where no call is to blame.
    """
    return _with_started(source.query("failed_runs", source=origin, week=week, limit=limit))


def unknown_commits(
    source: Source, *, settled: bool = False, now_ns: int | None = None, origin: str | None = None
) -> pl.DataFrame:
    """Calls of which nobody knows whether they took effect; with `settled` also those that were settled since.

    Columns: run, source, server, tool, via, decision, call, call_ordinal, outcome, age_s (null where the time is not known),
    followed_by_same_tool, duplicate_risk, duplicate, repeat_unknown (a later call of the tool may be a repeat: the arguments
    of either are not known), retried_in_doubt (the call itself was attempted again), key_digest, action_id, settled,
    found_by, week, started. `now_ns` replaces the clock that ages are taken by.
    """
    now_ns = time.time_ns() if now_ns is None else now_ns
    frame = _with_started(source.query("unknown_commits", now_ns=now_ns, source=origin))
    return frame if settled else frame.filter(pl.col("outcome") == "unknown_commit")


def overview(source: Source, *, origin: str | None = None, week: str | None = None) -> dict[str, Any]:
    """The headline figures with their denominators, one dict.

    Keys: runs, runs_judged (outcome success or failure), runs_succeeded, runs_failed, decisions, decisions_with_call,
    tools_visible, tools_called, calls, good, errors, timeouts, indeterminate, rejected, pending, unknown_commits,
    identical_repeats, arguments_checked, arguments_valid, arguments_invalid, arguments_indeterminate,
    utilisation_denominator, utilisation_either, measured, not_measurable. Runs stand in the week of their start, decisions
    and calls in their own.
    """
    return source.query("totals", by_week=False, source=origin, week=week).drop("week").row(0, named=True)


def weekly_totals(source: Source, *, origin: str | None = None) -> pl.DataFrame:
    """One row per week, oldest first, week 'unknown' last.

    Columns: week and the keys of `overview`.
    """
    return source.query("totals", by_week=True, source=origin)


def sources(source: Source) -> pl.DataFrame:
    """Where the records come from (`live`, `demo`, or an import's format): source, runs, calls."""
    return source.query("sources")


def offer_states(source: Source, *, origin: str | None = None) -> pl.DataFrame:
    """Per call in a run with tool search: run, decision, call, call_ordinal, server, tool, via, outcome, offer_state.

    `offer_state` is in_last_search_hits, in_earlier_search_hits or never_offered_by_a_search.
    """
    return source.query("offer_states", source=origin)


def observation_statuses(source: Source, *, origin: str | None = None) -> pl.DataFrame:
    """Calls by what the outer layer said and what was effective: called, transport_status, observation, calls.

    `called` is the tool that the model really called: the dispatcher where there is one, else the tool.
    """
    return source.query("observation_statuses", source=origin)


def provenance(source: Source, *, origin: str | None = None) -> pl.DataFrame:
    """Where argument values came from: server, tool, origin, leaves."""
    return source.query("provenance", source=origin)


def repeats(source: Source, *, origin: str | None = None) -> pl.DataFrame:
    """Identical repeats per tool: server, tool, calls, identical, adjacent, after_error."""
    return source.query("repeats", source=origin)


def conflicting_writes(source: Source, *, origin: str | None = None, run: str | None = None) -> pl.DataFrame:
    """Calls of one run that touched the same resource at the same time, at least one of them writing.

    Columns: run, source, resource, kind (write_write or read_write), call, call_ordinal, server, tool, other_call,
    other_ordinal, other_server, other_tool. Calls of which it is not told what they touch, and attempts of which begin or
    end is not known, are in no row.
    """
    return source.query("conflicting_writes", source=origin, run=run)


def speculative_calls(source: Source, *, by_week: bool = False, origin: str | None = None) -> pl.DataFrame:
    """What guesses cost, one row per (server, tool), with `by_week` per (server, tool, week).

    Columns: server, tool, [week], speculative, discarded, attempts, attempts_in_vain, timed, seconds, seconds_in_vain.
    Seconds are those of the `timed` calls, whose time is known, and null where there is none.
    """
    frame = source.query("speculative_calls", by_week=by_week, source=origin)
    return frame if by_week else frame.drop("week")


def ingest(source: Source) -> pl.DataFrame:
    """What was refused on arrival: reason, spans, requests."""
    return source.query("ingest")
