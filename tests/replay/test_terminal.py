import io

import pytest
from rich.console import Console

from toolwitness.model.enums import AttemptStatus, Known, ObservationStatus, RunOutcome, SideEffect, Validity
from toolwitness.model.records import ArgumentCheck, Failure
from toolwitness.replay import metrics
from toolwitness.replay.runs import replay_run, run_ids
from toolwitness.replay.tables import runs_table, short_ids, tool_name, tools_table
from toolwitness.replay.transcript import replay_view
from toolwitness.tests.factories import WEEK_NS, History


def printed(view, width=100):
    """What a terminal of that width without colours shows."""
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False, emoji=False).print(view)
    return out.getvalue()


@pytest.fixture(name="source")
def fixture_source(source_of):
    """A run in which one call was used, one was denied and one timed out, two weeks after another run."""
    history = History()
    history.run("older-run", task="1")
    history.call("older-run", "search", server="flights")
    history.skip(2 * WEEK_NS)
    history.run("the-run", RunOutcome.FAILURE, task="7", trial=0)
    history.toolset("the-run", "set", [("flights", "search"), ("bank", "pay")])
    step = history.decision("the-run", toolset_digest="set", visibility=Known.YES, finish="called", model="m-1")
    found = history.call("the-run", "search", server="flights", decision_id=step, novel_values=2, visible=Known.YES)
    history.attempt("the-run", found)
    step = history.decision("the-run", toolset_digest="set", visibility=Known.YES, finish="called", model="m-1")
    placeholder = '{"to": {"$tw:redacted": {"c": "personal", "t": "string", "len": "9-16", "why": "default"}}}'
    denied = history.call("the-run", "pay", ObservationStatus.NONE, server="bank", decision_id=step, arguments=placeholder)
    history.gate("the-run", denied, "policy", "deny", reason_code="limit", rule_id="max")
    late = history.call("the-run", "pay", ObservationStatus.TIMEOUT, server="bank", argument_sources=(found,))
    history.attempt("the-run", late, AttemptStatus.TIMEOUT, sent="yes")
    return source_of(history)


def test_tool_health_fits_100_columns(source):
    """Every tool is one line with its figures, and no line is wider than 100 columns."""
    text = printed(tools_table(metrics.tool_rows(source)))

    assert max(map(len, text.splitlines())) <= 100
    (line,) = [line for line in text.splitlines() if line.startswith("bank/pay")]
    assert line.split() == ["bank/pay", "2", "1", "50.0%", "2", "1", "·", "1", "·", "1", "·", "?", "n/r", "0/1"]


def test_arguments_that_do_not_fit_stand_beside_those_that_are_open(source_of):
    """What is indeterminate counts by itself; where not all calls were checked, the number of those that were is shown."""
    history = History()
    for verdict in (Validity.VALID, Validity.VALID, Validity.INVALID, Validity.INDETERMINATE, None):
        history.call("r", "some", arguments_valid=verdict)
    for verdict in (Validity.VALID, Validity.INVALID):
        history.call("r", "all", arguments_valid=verdict)
    history.call("r", "fine", arguments_valid=Validity.VALID)

    text = printed(tools_table(metrics.tool_rows(source_of(history))))

    lines = {line.split()[0]: line.split()[11:-2] for line in text.splitlines() if line.startswith(("some", "all", "fine"))}
    assert lines == {"some": ["1/4", "1?"], "all": ["1"], "fine": ["·"]}


def test_weeks_are_parts_of_the_table(source):
    """By week, each week is a part with a heading of its own, in order."""
    text = printed(tools_table(metrics.tool_rows(source, by_week=True)))

    assert [line.strip() for line in text.splitlines() if line.startswith("week ")] == ["week 2026-W45", "week 2026-W47"]


def test_runs_show_ids_that_replay_understands(source):
    """A run's shown id is a unique beginning of it."""
    text = printed(runs_table(metrics.runs(source).to_dicts(), run_ids(source)))

    shown = next(line.split()[0] for line in text.splitlines() if " 7, " in line)
    assert replay_run(source, shown).run == "the-run"


def test_a_list_of_runs_says_how_many_there_are(source):
    """Where it was cut it says how to see the rest."""
    cut, whole = metrics.runs(source, limit=1).to_dicts(), metrics.runs(source).to_dicts()

    assert "1 of 2 runs, newest first; --limit 2 shows all" in printed(runs_table(cut, run_ids(source)))
    assert printed(runs_table(whole, run_ids(source))).endswith("\n2 runs\n")
    assert printed(runs_table([], [])).endswith("\n0 runs\n")


def test_a_shown_id_is_unique_among_runs_that_are_not_shown(source_of):
    """A list that was cut does not shorten ids to what other runs begin with too."""
    history = History()
    history.run("long-running-1")
    history.run("long-running-2")
    source = source_of(history)

    assert "long-running-2" in printed(runs_table(metrics.runs(source, limit=1).to_dicts(), run_ids(source)))


def test_a_tool_without_figures_says_why(source_of):
    """Not measurable, no new values, no result, error and visibility unknown are different marks."""
    history = History()
    history.call("r", "cut", ObservationStatus.CUT_ON_WIRE)
    history.call("r", "plain", novel_values=0)
    history.call("r", "prose")
    history.call("r", "late", ObservationStatus.TIMEOUT)
    history.call("r", "bad", ObservationStatus.ERROR)

    lines = printed(tools_table(metrics.tool_rows(source_of(history)))).splitlines()

    wanted = {"cut": "n/m", "plain": "n/n", "prose": "n/m", "late": "n/r", "bad": "err"}
    shown = {cells[0]: (cells[3], cells[-2]) for cells in map(str.split, lines) if cells and cells[0] in wanted}
    assert shown == {tool: ("?", mark) for tool, mark in wanted.items()}


def test_short_ids_stay_unique():
    """Ids keep one character more than they share with any other, and at least eight."""
    assert short_ids(["tau-bench-1", "tau-bench-12", "walk-it-slowly"]) == {
        "tau-bench-1": "tau-bench-1",
        "tau-bench-12": "tau-bench-12",
        "walk-it-slowly": "walk-it-",
    }


def test_a_replay_tells_the_story_of_each_call(source):
    """Visible tools, gates, attempts, observation, later use and unknowns stand in words."""
    text = printed(replay_view(replay_run(source, "the-run")))

    for said in (
        "decision 1: called (m-1",
        "visible tools (2), version set: bank/pay @unknown, flights/search @unknown",
        "visible tools (2): as before",
        "call 1: flights/search -> succeeded",
        "used later in call 3",
        "call 2: bank/pay -> rejected",
        'arguments {"to": "<personal string 9-16>"}',
        "gate policy: deny (limit, rule max)",
        "no attempt recorded",
        "used later: no result",
        "call 3: bank/pay -> unknown_commit",
        "attempt 1: timeout (sent yes, 1000.0 ms)",
        "calls of which the decision is not known",
    ):
        assert said in text


def test_a_name_cannot_steer_the_terminal():
    """Control characters in a tool's name, which may be a model's text, are shown as question marks."""
    assert tool_name("s", "a\x1b[2J\nb") == "s/a?[2J?b"


def test_markup_in_recorded_text_stays_text(source_of):
    """Square brackets in arguments are shown as they are."""
    history = History()
    history.call("r", "a", arguments='"[bold]x[/bold]"')

    assert "[bold]x[/bold]" in printed(replay_view(replay_run(source_of(history), "r")))


def test_a_call_that_ran_although_denied_is_a_warning(source_of):
    """A denial that kept nothing from running stands at the head of the call, with the gate that denied it."""
    history = History()
    call = history.call("r", "pay")
    history.gate("r", call, "policy", "deny")
    history.attempt("r", call)

    assert "warning: ran although denied by policy" in printed(replay_view(replay_run(source_of(history), "r")))


def test_arguments_that_were_changed_are_shown_twice(source_of):
    """What the model proposed and what the tool ran with stand beside each other."""
    history = History()
    history.call("r", "pay", arguments='{"n": 1}', executed_arguments='{"n": 2}')

    text = printed(replay_view(replay_run(source_of(history), "r")))

    assert 'arguments as proposed {"n": 1}' in text
    assert 'arguments as executed {"n": 2} (differs from the proposal)' in text


def test_a_replay_tells_what_each_version_says_of_the_arguments(source_of):
    """The version of the call and the others stand by themselves, with pointers and keywords."""
    history = History()
    misfit = ArgumentCheck("bbbbbbbbbbbb", Validity.INVALID, (Failure("", "required"), Failure("/n", "type")))
    unsure = ArgumentCheck("cccccccccccc", Validity.INDETERMINATE, (Failure("/n", "pattern"),))
    checks = (ArgumentCheck("aaaaaaaaaaaa", Validity.VALID), misfit, unsure)
    history.call("r", "pay", schema_digest="aaaaaaaaaaaa", arguments_valid=Validity.VALID, argument_checks=checks)

    text = printed(replay_view(replay_run(source_of(history), "r")))

    assert "arguments valid under their schema\n" in text
    assert "arguments invalid under version bbbbbbbb (required at the top, type at /n)" in text
    assert "arguments indeterminate under version cccccccc (open: pattern at /n)" in text


def test_a_decision_without_its_call_says_so(source_of):
    """A model that called a tool of which nothing arrived did not call none."""
    history = History()
    history.decision("r", finish="called")

    assert "called, but no call was recorded" in printed(replay_view(replay_run(source_of(history), "r")))


def test_a_call_that_never_ended_has_no_known_answer(source_of):
    """Where only the announcement of an attempt arrived, what came back is not known."""
    history = History()
    call = history.call("r", "pay", ObservationStatus.NONE)
    history.attempt_start("r", call, "pay", parent="00000000000000aa")

    assert "observation not known" in printed(replay_view(replay_run(source_of(history), "r")))


def test_runs_tell_what_is_not_known_of_their_calls(source_of):
    """A run with an indeterminate call alone has no known problem, which is not the same as none."""
    history = History()
    history.call("r", "a", ObservationStatus.CUT_BY_RECORDING)
    source = source_of(history)

    assert "0; 1 not known" in printed(runs_table(metrics.runs(source).to_dicts(), run_ids(source)))


def test_a_writing_call_in_doubt_points_to_triage(source_of):
    """One that is known to be reading, or that was answered well, does not."""
    history = History()
    late = history.call("r", "pay", ObservationStatus.TIMEOUT)
    history.attempt("r", late, AttemptStatus.TIMEOUT)
    history.call("r", "look", ObservationStatus.TIMEOUT, side_effect=SideEffect.READ)
    history.call("r", "pay")

    text = printed(replay_view(replay_run(source_of(history), "r")))

    pointed = [line.split()[-1] for line in text.splitlines() if "toolwitness triage" in line]
    assert pointed == [late]


def test_a_failed_call_names_its_next_step(source_of):
    """What may have taken effect has to be settled first, whatever its class allows."""
    history = History()
    history.run("the-run")
    for tool, ruled_out in (("pay", True), ("book", False)):
        call = history.call("the-run", tool, ObservationStatus.RAISED, error_class="rate_limit")
        history.attempt("the-run", call, AttemptStatus.ERROR, sent="yes", effect_ruled_out=ruled_out)
    text = printed(replay_view(replay_run(source_of(history), "the-run")))

    assert [line.strip() for line in text.splitlines() if "next step" in line] == [
        "next step: wait, then retry (retry of the same: yes)",
        "next step: find out whether it happened (retry of the same: no)",
    ]
