"""`toolwitness triage`: what is in doubt, and all of one call."""

import json

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.enums import AttemptStatus, ObservationStatus, SideEffect
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, History

HOUR_NS = 3_600 * SECOND_NS


@pytest.fixture(name="told")
def fixture_told(tmp_path, monkeypatch):
    """A file with a payment that timed out, one that a policy stopped an hour later and one that was done; the ids by name."""
    history = History()
    history.run("desk-1", task="ticket-17", session="chat-3", agent="desk")
    fields = {"server": "bank", "side_effect": SideEffect.WRITE, "owner": "payments on call", "arguments": '{"amount":12}'}
    late = history.call("desk-1", "pay", ObservationStatus.TIMEOUT, arguments_digest="a", **fields)
    history.attempt("desk-1", late, AttemptStatus.TIMEOUT, sent="yes")
    history.skip(HOUR_NS)
    stopped = history.call("desk-1", "pay", ObservationStatus.NONE, arguments_digest="b", **fields)
    history.gate("desk-1", stopped, "policy", "deny", reason_code="limit")
    done = history.call("desk-1", "pay", arguments_digest="c", **fields)
    history.attempt("desk-1", done)
    path = tmp_path / "triage.duckdb"
    store = Store.open(path, clock=lambda: history.now_ns)
    store.write_group([history.rows])
    store.close()
    monkeypatch.setattr("time.time_ns", lambda: MONDAY_NS + 2 * HOUR_NS)
    return path, {"late": late, "stopped": stopped, "done": done}


def test_what_is_in_doubt_is_listed_within_100_columns(cli, told):
    """With whether it took effect, whether to retry, its age and owner, and how many of how many."""
    path, ids = told
    code, shown, said = cli("triage", "--db", path)

    assert (code, said) == (0, "")
    assert max(map(len, shown.splitlines())) <= 100
    rows = [line.split(maxsplit=5) for line in shown.splitlines() if line.startswith("0")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        [ids["late"], "bank/pay", "unknown", "no", "2", "h     payments on call"],
        [ids["stopped"], "bank/pay", "no", "safe", "60", "min  payments on call"],
    ]
    assert "1 unsettled, 1 stopped, of 3 calls that may change something" in shown


def test_all_lists_what_was_done_too(cli, told):
    """Below the others."""
    path, ids = told
    _, shown, _ = cli("triage", "--all", "--db", path)

    assert [line.split()[0] for line in shown.splitlines() if line.startswith("0")] == list(ids.values())


def test_programs_get_counts_and_calls(cli, told):
    """As one object; a call's replay is told where one is asked for."""
    path, ids = told
    _, shown, _ = cli("triage", "--db", path, "--json")
    listed = json.loads(shown)
    _, shown, _ = cli("triage", ids["late"], "--db", path, "--json")
    one = json.loads(shown)

    assert listed["states"] == {"unsettled": 1, "twice": 0, "failed": 0, "stopped": 1, "done": 1}
    assert [call["call"] for call in listed["calls"]] == [ids["late"], ids["stopped"]]
    assert (one["committed"], one["retry"], one["age_s"]) == ("unknown", "unsafe", 7199.0)
    assert one["replay"]["attempts"][0]["status"] == "timeout"


@pytest.mark.parametrize(
    ("search", "found"),
    [
        (("--run", "desk"), ["late", "stopped"]),
        (("--run", "other"), []),
        (("--task", "ticket-17"), ["late", "stopped"]),
        (("--session", "chat-4"), []),
        (("--tool", "bank/pay", "--limit", "1"), ["late"]),
        (("--action", "none"), []),
        (("--since", "90m"), ["stopped"]),
        (("--since", "2026-11-02T00:30"), ["stopped"]),
        (("--since", "2026-11-02T01:30+01:00"), ["stopped"]),
        (("--until", "90m"), ["late"]),
        (("--until", "2026-11-02"), []),
    ],
)
def test_a_search_leaves_the_others_out(cli, told, search, found):
    """By run, task, session, tool, action and time, which may be an age."""
    path, ids = told
    _, shown, _ = cli("triage", *search, "--db", path, "--json")

    assert [call["call"] for call in json.loads(shown)["calls"]] == [ids[name] for name in found]


def test_a_range_of_times_says_what_it_leaves_out(cli, told):
    """Calls of which the time is not known are in no range."""
    _, shown, said = cli("triage", "--until", "2026-11-02", "--db", told[0])

    assert "nothing in doubt, failed or stopped, of 0 calls" in shown
    assert "calls whose time is not known are left out" in said


def test_a_time_that_is_none_is_wrong_usage(cli, told):
    """The error names the option and what it takes."""
    code, _, said = cli("triage", "--since", "yesterday", "--db", told[0])

    assert code == 2
    assert "'yesterday' is no time" in " ".join(said.replace("│", " ").split())


def test_one_call_is_told_whole(cli, told):
    """The three questions first, then what is known and not, and what to type."""
    path, ids = told
    code, shown, _ = cli("triage", ids["late"], "--db", path)

    assert code == 0
    flat = " ".join(shown.split())
    for said in (
        f"call {ids['late']}: bank/pay -> unknown_commit",
        "did it commit unknown",
        "retry no. It may have taken effect",
        "next step payments on call finds out",
        'asked {"amount": 12}',
        "by run desk-1, task ticket-17, session chat-3, agent desk",
        "attempts 1: timed out, sent",
        "not known Whether it took effect.",
        f"toolwitness settle {ids['late']} FINDING --by NAME --reason TEXT --db {path}",
        "FINDING is committed, not_committed, still_unknown",
    ):
        assert said in flat, said


def test_a_call_that_is_not_there_is_told(cli, told):
    """With what lists them, and exit code 1."""
    code, shown, said = cli("triage", "ffff", "--db", told[0])

    assert (code, shown) == (1, "")
    assert "`toolwitness triage --all` lists them" in said


def test_a_run_is_handed_over(cli, told):
    """Each part with its calls, then what is needed and the commands that settle."""
    path, ids = told
    code, shown, _ = cli("handover", "desk", "--db", path)

    assert code == 0
    flat = " ".join(shown.split())
    for said in (
        "run desk-1: what ended it is not known",
        f"CONFIRMED: took effect (1) {ids['done']} bank/pay succeeded By its answer.",
        f"NOT EXECUTED: took no effect (1) {ids['stopped']} bank/pay rejected Nothing ran: gate policy denied it.",
        f"TO BE RECONCILED: may have taken effect, or still may (1) {ids['late']} bank/pay unknown_commit",
        "NEEDED TO GO ON (2)",
        "not known: Which limits it had, if any.",
        f"toolwitness settle {ids['late']} FINDING --by NAME --reason TEXT --db {path}",
    ):
        assert said in flat, said


def test_programs_get_the_same_handover(cli, told):
    """As one object."""
    path, ids = told
    _, shown, _ = cli("handover", "desk-1", "--db", path, "--json")
    left = json.loads(shown)

    assert [[one["call"] for one in left[part]] for part in ("confirmed", "not_executed", "to_reconcile")] == [
        [ids["done"]],
        [ids["stopped"]],
        [ids["late"]],
    ]
    assert (left["stopped_by"], [need["step"] for need in left["needed"]]) == ("unknown", ["settle", "answer_gate"])
    assert [one["name"] for one in left["budget"] if one["left"] is not None] == []


def test_a_running_toolwitness_tells_the_same(cli, told, start):
    """While it holds the file, triage and handover ask it."""
    path, ids = told
    questions = (("triage",), ("triage", ids["late"]), ("handover", "desk-1"))
    alone = [cli(*question, "--db", path, "--json")[1] for question in questions]

    start(path.name)

    assert [cli(*question, "--db", path, "--json")[1] for question in questions] == alone


def test_a_settled_call_is_in_doubt_no_more(cli, told):
    """Who found it out is told, and the run's handover counts it as confirmed."""
    path, ids = told
    code, _, said = cli("settle", ids["late"], "committed", "--by", "ann", "--reason", "receipt seen", "--db", path)
    assert (code, said) == (0, "")

    _, shown, _ = cli("triage", ids["late"], "--db", path)
    _, left, _ = cli("handover", "desk-1", "--db", path, "--json")

    flat = " ".join(shown.split())
    assert "did it commit yes" in flat
    assert "retry not needed. It was done." in flat
    assert "ann said on" in flat
    assert [one["call"] for one in json.loads(left)["confirmed"]] == [ids["late"], ids["done"]]


@pytest.mark.parametrize("command", [("triage",), ("triage", "CALL"), ("handover", "run\x1b"), ("runs",), ("replay", "r")])
def test_what_an_application_named_cannot_steer_a_terminal(cli, tmp_path, command):
    """Ids of runs may hold anything; a command that names one is written so that a shell reads it."""
    history, path = History(), tmp_path / "steering.duckdb"
    history.run("run\x1b[2J", task="task\x1b[2J", session="\x1b[2J", agent="\x1b[2J")
    call = history.call("run\x1b[2J", "pay", ObservationStatus.TIMEOUT, action_id="\x1b[2J")
    store = Store.open(path)
    store.write_group([history.rows])
    store.close()
    code, shown, said = cli(*(call if word == "CALL" else word for word in command), "--db", path)

    assert (code, "\x1b" in shown + said) == (0, False)
    assert "CALL" not in command or r"toolwitness replay $'run\U0000001b[2J' --db" in shown


def test_an_error_cannot_steer_a_terminal_either(cli, told):
    """It names what was asked for."""
    _, _, said = cli("triage", "no\x1b[2J", "--db", told[0])

    assert "\x1b" not in said
