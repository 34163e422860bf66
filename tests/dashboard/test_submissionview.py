"""Submissions, as HTML."""

import re
from dataclasses import replace
from datetime import date

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.dashboard import reading, submissionview
from toolwitness.dashboard.reading import Sought
from toolwitness.replay.advice import Retry, Step
from toolwitness.replay.load import Source
from toolwitness.replay.submissions import STATES, submission
from toolwitness.tests.browser import ledger
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS

NOW_NS = MONDAY_NS + 3 * 86_400 * SECOND_NS


@pytest.fixture(name="told", scope="module")
def fixture_told(tmp_path_factory):
    """(source, ids of calls) of the treasury agent's history up to Thursday 2026-11-05."""
    rows, calls = ledger.tell(now_ns=NOW_NS)
    store = Store.open(tmp_path_factory.mktemp("treasury") / "treasury.duckdb", clock=lambda: NOW_NS)
    store.write_group([rows])
    yield Source(store, "treasury.duckdb"), calls
    store.close()


@pytest.fixture(name="one")
def fixture_one(told):
    """The payment that timed out."""
    return submission(told[0], told[1].timed_out, now_ns=NOW_NS)


def words(markup):
    """The text of some markup, its white space made single."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup)).strip()


def address_of(call):
    """Where a call is told of."""
    return f"/submissions?call={call}"


def row(one):
    """The cells of a submission in the list, as text."""
    shown = submissionview.list_table([one], address_of).split("<tbody>")[1]
    return [words(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", shown)]


def fact(one, key):
    """What the facts say of something."""
    return words(re.search(rf"<dt>{key}</dt><dd>(.*?)</dd>", submissionview.facts(one, address_of))[1])


def test_every_state_and_step_has_words():
    """Nothing that the advice can say is shown as a name of the code."""
    assert set(submissionview.STATE_WORDS) == set(STATES)
    assert set(submissionview.STEP_WORDS) == set(Step)


@pytest.mark.parametrize("retry", Retry)
def test_every_answer_to_a_retry_is_told(one, retry):
    """In a word, with its reason."""
    told = words(submissionview.answers(replace(one, retry=retry.value, why="So it is.")))
    assert re.search(r"May it be sent again\? (Yes|No|Not known|Not needed) So it is\.", told)


@pytest.mark.parametrize(
    ("committed", "answer"),
    [
        ("yes", "Yes"),
        ("twice", "Yes, perhaps twice"),
        ("partly", "In part"),
        ("no", "No"),
        ("says_no", "No, says the tool"),
        ("not_yet", "Not yet"),
        ("unknown", "Not known"),
    ],
)
def test_whether_it_took_effect_is_said_as_it_is_known(one, committed, answer):
    """With what is known of it beneath."""
    told = words(submissionview.answers(replace(one, committed=committed)))
    assert f"Did it take effect? {answer} It was attempted 2 times" in told


def test_what_may_have_been_done_twice_does_not_say_a_plain_yes(told):
    """A success after a doubtful try."""
    one = submission(told[0], told[1].retried)
    assert "Did it take effect? Yes, perhaps twice" in words(submissionview.answers(one))


def test_of_what_is_done_nobody_must_act(told):
    """An owner is named where something is left to do alone."""
    one = submission(told[0], told[1].settled)
    assert "Who must act? Nobody Nothing is left to do." in words(submissionview.answers(one))


@pytest.mark.parametrize("states", [(state,) for state in STATES])
def test_the_order_of_one_state_is_told_as_it_is(told, states):
    """Doubts are listed from the oldest on, what is over from the newest."""
    started = [one.started for one in reading.submissions(told[0], Sought(), states=states, most=None)]
    order = {"oldest first.": False, "newest first.": True}[submissionview.order(states)]
    assert started == sorted(started, reverse=order)


def test_the_headline_has_denominators(told):
    """Each state of all writing calls, and the age of the oldest doubt."""
    counts = reading.submission_counts(told[0], Sought())
    figures = submissionview.headline(counts, None)
    assert [label for label, _, _ in figures] == [*submissionview.STATE_WORDS.values(), "Oldest unsettled"]
    assert {under for _, _, under in figures[:-1]} == {f"of {sum(counts.values())} writing calls"}
    assert words(figures[-1][1]) == "none"


def test_a_row_tells_what_to_do(one):
    """Call, outcome with its risk, arguments as chips, retry, next step with the owner, run, age."""
    call, became, asked, retry, step, run, age = row(one)
    assert (call, retry, age) == ("create_payment payments", "✕ unsafe", "25 h")
    assert became == "! unknown commit ✕ duplicate risk 2 attempts"
    assert "[redacted: personal string, 9-16 chars]" in asked
    assert step == f"Find out whether it took effect {ledger.PAYMENTS_TEAM}"
    assert run == "settle invoice INV-8831 chat-7f2a"


def test_what_is_not_known_of_a_row_is_said(one):
    """Owner, arguments, age and run are never blank."""
    cells = row(replace(one, owner="unknown", arguments=None, age_s=None, run=None, attempts=()))
    assert cells[2] == "not recorded"
    assert cells[4].endswith("owner unknown")
    assert cells[5:] == ["run unknown", "age unknown"]
    assert cells[1].endswith("no attempt recorded")


def test_commands_of_the_next_step_are_code(one):
    """They stand out of the sentence."""
    assert ">toolwitness settle</code>" in submissionview.next_step(one)
    assert "`" not in submissionview.next_step(one)


def test_the_later_call_of_the_same_is_a_link(one, told):
    """From the doubt to what may be its duplicate is one click."""
    assert f'href="/submissions?call={told[1].repeated}"' in submissionview.facts(one, address_of)
    assert fact(one, "Duplicate risk") == f"asked for again before it was settled: call {told[1].repeated}"


def test_without_arguments_and_action_the_duplicate_risk_is_not_known(one):
    """Not known is no no."""
    assert fact(replace(one, duplicate=None, duplicate_risk=None), "Duplicate risk").startswith("not known")


@pytest.mark.parametrize("name", ["Agent", "Session", "Action id", "Source", "Run"])
def test_a_fact_that_is_missing_is_unknown(one, name):
    """Never a blank."""
    missing = replace(one, agent=None, session=None, action_id=None, source=None, run=None)
    assert "unknown" in fact(missing, name)


def test_recorded_names_stay_text(one):
    """A tool, a task or an owner that is markup is shown, not obeyed."""
    bad = "<img src=x>"
    hostile = replace(one, tool=bad, server=bad, task=bad, owner=bad, session=bad, known=(bad,), unknown=(bad,), why=bad)
    drawn = [
        submissionview.list_table([hostile], address_of),
        submissionview.answers(hostile),
        submissionview.known_and_not(hostile),
        submissionview.facts(hostile, address_of),
        submissionview.title(hostile),
    ]
    assert all("<img" not in part for part in drawn)


def test_days_are_whole_and_in_utc(told):
    """The last day is looked for to its end."""
    day = date(2026, 11, 4)
    found = reading.submissions(told[0], Sought(since=day, until=day), states=STATES, most=None)
    assert found
    assert {one.started[:10] for one in found} == {"2026-11-04"}
    assert len(found) == sum(reading.submission_counts(told[0], Sought(since=day, until=day)).values())


def test_a_cut_list_knows_its_whole_length(told):
    """As the other lists do."""
    found = reading.submissions(told[0], Sought(), states=STATES, most=2)
    assert (len(found), found[0].total) == (2, sum(reading.submission_counts(told[0], Sought()).values()))
