import json
from pathlib import Path

import pytest

from toolwitness.collector.importers.livemcpbench import is_catalogue, is_records, read_answer, read_catalogue, read_record
from toolwitness.model.enums import AttemptStatus, Exposure, Known, ObservationStatus, SideEffect

FIXTURES = Path(__file__).parent / "fixtures"


def _load(name):
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


@pytest.fixture(name="catalogue", scope="module")
def fixture_catalogue():
    """The made-up servers and their tools."""
    return read_catalogue(_load("live_small_tools.json"))


@pytest.fixture(name="run", scope="module")
def fixture_run(catalogue):
    """The made-up run that uses everything."""
    return read_record(_load("live_small.json")[0], catalogue)


def _visible(step):
    return [(tool.server, tool.name) for tool in step.tools]


def test_files_are_told_apart():
    """Trajectories and catalogue are recognised, each as itself only."""
    records, tools = _load("live_small.json"), _load("live_small_tools.json")

    assert (is_records(records), is_catalogue(records)) == (True, False)
    assert (is_records(tools), is_catalogue(tools)) == (False, True)


def test_server_is_named_by_its_key(catalogue):
    """A tool's server is the key under `tools`, which is what searches and calls name, not the entry's title."""
    assert [(tool.server, tool.name) for tool in catalogue.definitions] == [
        ("tide-mcp", "get_tide"),
        ("Harbour Board MCP", "get_tide"),
        ("12-pilots", "find_pilot"),
        ("mail-mcp", "send_mail"),
        ("mail-mcp", "list_mail"),
    ]


def test_person_says_how_the_run_ended(run):
    """The human label is the outcome; where it is missing nothing is known."""
    unlabelled = read_record(_load("live_small.json")[1])

    assert (run.outcome, run.outcome_source, run.category) == ("success", "person", "daily")
    assert (unlabelled.outcome, unlabelled.outcome_source) == ("unknown", "unknown")


def test_dispatcher_resolves_to_the_inner_tool(run):
    """A call of execute-tool is one of the inner tool, with the inner arguments."""
    call = run.calls[1]

    assert (call.server, call.tool, call.via, call.arguments) == (
        "tide-mcp",
        "get_tide",
        "execute-tool",
        {"port": "Port Merrow"},
    )


def test_dispatcher_without_inner_tool_stays_itself(run):
    """Where the arguments name no inner tool, the call is one of execute-tool."""
    call = next(call for call in run.calls if call.tool == "execute-tool")

    assert (call.server, call.via, call.arguments) == ("livemcp", None, {"tool": "send_mail"})


def test_search_is_a_call_and_a_discovery(run):
    """`route` is a call of server livemcp that knows its query and its hits, spaces and quotes in names included."""
    search = run.observations[0].search

    assert (run.calls[0].server, run.calls[0].tool, run.calls[0].via) == ("livemcp", "route", None)
    assert search.query == "tides"
    assert search.hits == (("tide-mcp", "get_tide"), ("Harbour Board MCP", "get_tide"), ("12-pilots", "find_pilot"))


def test_visible_is_what_searches_had_hit(run):
    """The first decision sees the search alone, the next ones also what was hit before them."""
    first = [("livemcp", "route")]
    second = [*first, *run.observations[0].search.hits]

    assert [_visible(step) for step in run.steps[:3]] == [first, second, second]
    assert _visible(run.steps[3]) == [*second, ("mail-mcp", "send_mail"), ("mail-mcp", "list_mail")]
    assert {step.exposure for step in run.steps} == {Exposure.TOOL_SEARCH}


def test_candidates_are_the_whole_catalogue(run, catalogue):
    """What a search chooses from is the catalogue, and the search itself."""
    assert all(step.candidates is catalogue.candidates for step in run.steps)
    assert len(catalogue.candidates) == len(catalogue.definitions) + 1


def test_call_knows_whether_its_tool_was_visible(run):
    """A tool that no search had hit was not visible when it was called."""
    assert [(call.tool, call.visible) for call in run.calls[1:4]] == [
        ("get_tide", Known.YES),
        ("get_tide", Known.YES),
        ("send_mail", Known.NO),
    ]


def test_tools_outside_the_catalogue_are_unregistered(run):
    """A name that stands in no catalogue is the model's own; without a catalogue that is not known."""
    without = read_record(_load("live_small.json")[0])

    assert [call.registered for call in run.calls if call.server == "Ghost MCP"] == [Known.NO]
    assert {call.registered for call in without.calls if call.via} == {Known.UNKNOWN}
    assert {step.candidates for step in without.steps} == {None}


def test_definition_follows_the_catalogue(run):
    """The inner tool's definition is the one of its own server, though another has a tool of that name."""
    assert [call.definition.side_effect for call in run.calls[1:3]] == [SideEffect.READ, SideEffect.UNKNOWN]


@pytest.mark.parametrize(
    ("tool", "outer", "effective"),
    [
        ("Harbour Board MCP/get_tide", "ok", "error"),
        ("tide-mcp/get_tide", "ok", "ok"),
        ("mail-mcp/send_mail", "timeout", "timeout"),
        ("Ghost MCP/haunt", "error", "error"),
        ("livemcp/execute-tool", "error", "error"),
    ],
)
def test_outer_and_effective_status(run, tool, outer, effective):
    """An inner error behind an outer success, a timeout and an outer error are told apart."""
    position = next(at for at, call in enumerate(run.calls) if f"{call.server}/{call.tool}" == tool)
    seen = run.observations[position]

    assert (seen.transport_status, seen.status) == (outer, effective)


def test_cut_result_is_neither_ok_nor_error(run):
    """A result that the recording cut has an unknown status on both layers, and keeps the text that there is."""
    seen = [run.observations[at] for at, call in enumerate(run.calls) if call.tool == "list_mail"]

    assert [one.status for one in seen] == ["cut_by_recording", "empty", "ok"]
    assert seen[0].transport_status is ObservationStatus.CUT_BY_RECORDING
    assert seen[0].value.startswith('{\n  "_meta": null')


def test_several_texts_stay_apart(run):
    """A result of several parts is the list of their texts."""
    position = [at for at, call in enumerate(run.calls) if call.tool == "list_mail"][2]

    assert run.observations[position].value == ["first mail", "second mail"]


def test_timeout_may_have_been_sent(run):
    """Nothing says whether a call that timed out had left the process."""
    seen = run.observations[3]

    assert (seen.attempt, seen.sent) == (AttemptStatus.TIMEOUT, Known.UNKNOWN)


def test_failed_search_is_an_error(run):
    """A search that says `success: false` in an outwardly good answer is an error without hits."""
    seen = [seen for seen in run.observations.values() if seen.search is not None][-1]

    assert (seen.status, seen.transport_status, seen.search.hits) == ("error", "ok", ())


def test_cut_listing_with_all_hits_hides_nothing(run):
    """A cut listing that shows as many hits as a search gives leaves visibility known."""
    cut = [seen for seen in run.observations.values() if seen.search is not None][1]

    assert (cut.status, cut.search.complete) == ("cut_by_recording", True)


def test_cut_listing_with_fewer_hits_hides_tools():
    """One that shows fewer may have shown more to the model: what was visible from then on is not known."""
    text = "meta=None content=[TextContent(type='text', text='success: true\\nmatched_tools:\\n- server_name: a\\n  tool_na"
    search = {"id": "1", "function": {"name": "route", "arguments": '{"query": "x"}'}}
    use = {"id": "2", "function": {"name": "execute-tool", "arguments": '{"server_name": "b", "tool_name": "c"}'}}
    run = read_record(
        {
            "messages": [
                {"role": "assistant", "tool_calls": [search]},
                {"role": "tool", "tool_call_id": "1", "content": text},
                {"role": "assistant", "tool_calls": [use]},
            ]
        }
    )

    assert [step.tools is None for step in run.steps] == [False, True]
    assert run.calls[1].visible is Known.UNKNOWN


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Tool call timed out.", "timeout"),
        ("Error: server is gone", "error"),
        ("fine", "ok"),
        ("x" * 10_000, "cut_by_recording"),
    ],
)
def test_plain_answers(text, status):
    """An answer that is no CallToolResult is the harness's own word."""
    assert (read_answer(text).outer, read_answer(text).effective) == (status, status)


def test_bad_record_has_a_reason():
    """A record without messages is refused under a stable word."""
    with pytest.raises(ValueError, match="trajectory_without_messages"):
        read_record(_load("live_small.json")[2])
