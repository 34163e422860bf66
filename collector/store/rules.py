"""The table `outcome_rule`: `model.outcome` written out, so that SQL judges calls by the very same function."""

from __future__ import annotations

import functools
import hashlib

import duckdb
import pyarrow as pa

from toolwitness.collector.store.queries import Write, execute
from toolwitness.collector.store.version import read_meta, write_meta
from toolwitness.model.outcome import Evidence, every_evidence, outcome

_KEY = "outcome_rule_digest"


@functools.cache
def rules() -> tuple[tuple[str, ...], ...]:
    """Every combination of evidence, followed by its outcome."""
    return tuple((*evidence, outcome(evidence)) for evidence in every_evidence())


@functools.cache
def _rules_digest() -> str:
    return hashlib.sha256("\n".join(map(" ".join, rules())).encode()).hexdigest()


def refresh_rules(cursor: duckdb.DuckDBPyConnection) -> None:
    """Bring the rules in the file to those of this release, in the caller's transaction.

    Where they change, calls that are stored already are judged again by their stored evidence.
    """
    if read_meta(cursor, _KEY) == _rules_digest():
        return
    columns = [pa.array(values, type=pa.string()) for values in zip(*rules(), strict=True)]
    cursor.register("rules", pa.table(columns, names=[*Evidence._fields, "outcome"]))
    execute(cursor, Write.CLEAR_RULES)
    execute(cursor, Write.FILL_RULES)
    cursor.unregister("rules")
    execute(cursor, Write.JUDGE_ALL)
    write_meta(cursor, _KEY, _rules_digest())
