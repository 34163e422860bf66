from toolwitness.model.enums import ObservationStatus, Origin
from toolwitness.model.records import LeafOrigin
from toolwitness.tests.factories import History


def test_statuses_stand_by_what_the_model_called(ask):
    """Calls through a dispatcher stand under it; outer and effective status are told apart."""
    history = History()
    ok = ObservationStatus.OK
    history.call("r", "inner", ObservationStatus.ERROR, via="execute", transport_status=ok)
    history.call("r", "other", ObservationStatus.ERROR, via="execute", transport_status=ok)
    history.call("r", "plain", ok, transport_status=ok)

    rows = ask(history, "observation_statuses")

    assert [tuple(row.values()) for row in rows] == [("execute", "ok", "error", 2), ("plain", "ok", "ok", 1)]


def test_argument_leaves_stand_by_origin(ask):
    """Every leaf counts once under its tool and origin."""
    history = History()
    leaves = (LeafOrigin("/a", Origin.USER), LeafOrigin("/b", Origin.USER), LeafOrigin("/c", Origin.MODEL))
    history.call("r", "a", server="s", provenance=leaves)
    history.call("r", "a", server="s", provenance=leaves[:1])
    history.call("r", "a", server="s")

    rows = ask(history, "provenance")

    assert [tuple(row.values()) for row in rows] == [("s", "a", "model", 1), ("s", "a", "user", 3)]


def test_repeats_are_told_apart(ask):
    """Adjacent is the call just before, after_error an error of the latest twin."""
    history = History()
    history.call("r", "a", ObservationStatus.ERROR, arguments_digest="x")
    history.call("r", "a", arguments_digest="x")
    history.call("r", "b", arguments_digest="x")
    history.call("r", "a", arguments_digest="x")

    rows = {row["tool"]: row for row in ask(history, "repeats")}

    words = ("calls", "identical", "adjacent", "after_error")
    assert tuple(rows["a"][word] for word in words) == (3, 2, 1, 1)
    assert tuple(rows["b"][word] for word in words) == (1, 0, 0, 0)


def test_the_calls_of_one_tool_are_listed_newest_first(ask):
    """The list tells of each call its run, its outcome, its arguments and whether its result was used."""
    history = History()
    history.run("r", task="7")
    first = history.call("r", "a", server="s", arguments='{"q":1}', arguments_digest="x", novel_values=1)
    history.attempt("r", first)
    history.call("r", "a", server="s", arguments_digest="x", argument_sources=(first,))
    history.call("r", "a", server="elsewhere")

    newer, older = ask(history, "tool_calls", server="s", tool="a")

    words = ("task", "outcome", "arguments", "identical_repeat", "in_arguments", "attempts", "duration_ms")
    assert tuple(older[word] for word in words) == ("7", "succeeded", '{"q":1}', False, True, 1, 1000.0)
    assert (newer["identical_repeat"], newer["measurable"]) == (True, False)


def test_what_was_refused_is_counted_by_reason(ask):
    """Stored spans are told beside refused ones."""
    history = History()
    history.run("r")

    assert ask(history, "ingest") == [{"reason": "stored", "spans": 1, "requests": 1}]
