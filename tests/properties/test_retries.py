"""Retries are attempts of one call: however many there were, there is as much of everything else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from toolwitness.collector.embedded import StoreExporter
from toolwitness.sdk import ManualClock, Recorder, SeededIds
from toolwitness.tests.factories import MONDAY_NS
from toolwitness.tests.properties.ledger_world import open_copy

ENDS = st.sampled_from([ConnectionResetError, ConnectionRefusedError, TimeoutError, None])
VALUES = st.sampled_from(["REF-900", "REF-901", "REF-902"])
RETRY = st.tuples(ENDS, st.none() | VALUES)
CALLS = st.lists(
    st.tuples(st.sampled_from(["look", "pay"]), VALUES, VALUES, st.lists(RETRY, max_size=4)), min_size=1, max_size=4
)
FIGURES = ["calls", "good", "errors", "runs_judged", "decisions", "decisions_with_call", "measured", "utilisation_denominator"]
SAME = ("tool", "observation", "outcome", "novel_values", "result_size", "arguments_digest")


def retried(call, end, said):
    """One attempt that was not the last: it ends by an exception or as if well, and what it said does not stand."""
    with call.attempt(retry_reason="again") as attempt:
        if end is not None:
            attempt.fail(end())
    if said is not None:
        call.result({"ref": said, "note": f"first {said}"})


def play(recorder, calls):
    """A run of these calls, each with its retries and then one attempt that is answered."""
    with recorder.run("t") as run:
        run.message("user", "Look around.")
        for tool, asked, answer, retries in calls:
            with run.decision() as step, step.call(tool, {"ref": asked}) as call:
                for end, said in retries:
                    retried(call, end, said)
                with call.attempt():
                    pass
                call.result({"ref": answer, "state": f"new {answer}"})


def told(store, source, calls):
    """What the store tells of such a run: its calls without what names or times them, their attempts, and the totals."""
    clock = ManualClock(MONDAY_NS)
    recorder = Recorder(exporter=StoreExporter(store), clock=clock, key=b"k", ids=SeededIds(source), source=source, inline=True)
    play(recorder, calls)
    recorder.close()
    query = "select * from calls where source = $source order by call_ordinal"
    rows = store.read(lambda cursor: cursor.sql(query, params={"source": source}).to_arrow_table().to_pylist())
    totals = store.query("totals", {"source": source, "by_week": False}).to_pylist()[0]
    ordinals = {row["call_id"]: row["call_ordinal"] for row in rows}
    sources = [sorted(ordinals[each] for each in row["argument_sources"] or ()) for row in rows]
    facts = [tuple(row[name] for name in SAME) for row in rows]
    return (facts, sources, {name: totals[name] for name in FIGURES}), [row["attempts"] for row in rows]


@settings(max_examples=12, derandomize=True, deadline=None)
@given(calls=CALLS)
def test_retries_raise_nothing_but_attempts(tmp_path_factory, calls):
    """Calls, results, new values, where arguments came from, and every total are those of the run without its retries."""
    store = open_copy(tmp_path_factory.mktemp("retries") / "db", lambda: MONDAY_NS)

    found, attempts = told(store, "live", calls)
    once, _ = told(store, "demo", [(*call[:3], []) for call in calls])
    store.close()

    assert found == once
    assert attempts == [len(call[3]) + 1 for call in calls]
