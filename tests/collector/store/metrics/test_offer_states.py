import json

from toolwitness.model.records import Hit, Json
from toolwitness.tests.factories import History


def search(history, run, *tools):
    """A search that hit these tools."""
    query = Json(json.dumps("query"))
    history.call(run, "route", discovery_query=query, discovery_hits=tuple(Hit("s", tool) for tool in tools))


def states(rows):
    """Tool and offer state in the order of the calls."""
    return [(row["tool"], row["offer_state"]) for row in rows]


def test_a_call_is_judged_by_the_searches_before_it(ask):
    """In the latest search, in an earlier one only, or in none before the call; searches are not judged."""
    history = History()
    search(history, "r", "a", "b")
    history.call("r", "a", server="s")
    search(history, "r", "b")
    history.call("r", "a", server="s")
    history.call("r", "b", server="s")
    history.call("r", "c", server="s")
    search(history, "r", "c")

    assert states(ask(history, "offer_states")) == [
        ("a", "in_last_search_hits"),
        ("a", "in_earlier_search_hits"),
        ("b", "in_last_search_hits"),
        ("c", "never_offered_by_a_search"),
    ]


def test_a_search_without_hits_is_the_latest_all_the_same(ask):
    """After a search that found nothing, earlier hits are earlier."""
    history = History()
    search(history, "r", "a")
    search(history, "r")
    history.call("r", "a", server="s")

    assert states(ask(history, "offer_states")) == [("a", "in_earlier_search_hits")]


def test_only_the_server_of_the_hit_is_offered(ask):
    """The same name on another server was not offered."""
    history = History()
    search(history, "r", "a")
    history.call("r", "a", server="elsewhere")

    assert states(ask(history, "offer_states")) == [("a", "never_offered_by_a_search")]


def test_runs_without_search_are_left_out_unless_dispatched(ask):
    """A plain call in a run without searches is not judged; one through a dispatcher is."""
    history = History()
    history.call("plain", "a")
    history.call("dispatched", "b", via="execute")

    assert states(ask(history, "offer_states")) == [("b", "never_offered_by_a_search")]
