import pytest

from toolwitness.dashboard import wording
from toolwitness.model.enums import AttemptStatus, Finding, Outcome, RunOutcome, Verdict


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.0, "0%"), (1.0, "100%"), (0.5, "50.0%"), (0.0001, "0.1%"), (0.99999, "99.9%")],
)
def test_percent_keeps_almost_apart_from_exactly(rate, shown):
    """Only exactly none and exactly all are shown as 0% and 100%."""
    assert wording.percent(rate) == shown


def test_counts_have_separators():
    """Large counts can be read at a glance."""
    assert wording.count(1234567) == "1,234,567"


def test_an_unknown_count_is_not_zero():
    """None is said as unknown."""
    assert "unknown" in wording.count(None)


def test_what_nobody_can_know_stands_out_from_what_is_not_there():
    """Not measurable is marked as unknown, no new values is a plain fact."""
    assert 'class="unknown"' in wording.absent("not measurable")
    assert 'class="unknown"' not in wording.absent("no new values")


def test_a_call_without_its_own_span_has_no_number():
    """Its place in the run is not known, and None is no number."""
    assert (wording.call_name(1), wording.call_name(None)) == ("call 1", "call")


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(None, "unknown"), (0.2, "under 1 ms"), (340.4, "340 ms"), (2_150.0, "2.1 s"), (90_000.0, "1.5 min")],
)
def test_durations_are_said_in_the_unit_that_fits(milliseconds, shown):
    """Milliseconds, seconds or minutes; unknown stays unknown."""
    assert wording.lasted(milliseconds) == shown


@pytest.mark.parametrize("enum", [Outcome, RunOutcome, Verdict, AttemptStatus, Finding])
def test_every_state_is_said_in_words(enum):
    """A pill never rests on its colour: it holds the state's own word."""
    assert all(wording.plain(state.value) in wording.pill(state.value) for state in enum)


def test_only_success_is_drawn_as_success():
    """No outcome but succeeded has the good tone: unknown is never shown as success."""
    assert [state.value for state in Outcome if wording.tone(state.value) == "good"] == ["succeeded"]


def test_a_time_that_is_not_known_is_said_so():
    """An import without times shows no date."""
    assert "time unknown" in wording.when(None)


def test_a_time_is_shown_to_the_minute_in_utc():
    """The exact time stands in the tooltip."""
    shown = wording.when("2026-11-02T09:05:07.123Z")
    assert ">2026-11-02 09:05 UTC<" in shown
    assert 'title="2026-11-02T09:05:07.123Z"' in shown


def test_a_cut_list_says_so():
    """A list that shows not all names both figures."""
    assert wording.cut(500, 1234, "runs") == "first 500 of 1,234 runs"
    assert wording.cut(12, 12, "runs") == "12 runs"


def test_a_digest_is_shortened_with_the_whole_in_its_tooltip():
    """Eight digits are enough to compare by eye."""
    assert wording.short("0123456789abcdef") == '<code title="0123456789abcdef">01234567</code>'


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "age unknown"), (3, "under 1 min"), (61, "1 min"), (7_200, "2 h"), (47 * 3_600, "47 h"), (50 * 3_600, "2 days")],
)
def test_ages_are_said_in_the_largest_unit_that_tells_them(seconds, shown):
    """Minutes, hours up to two days, then days; unknown stays unknown."""
    assert f">{shown}<" in wording.aged(seconds)
