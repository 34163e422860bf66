import dataclasses
import re

import pytest

from toolwitness.dashboard.callview import call_card
from toolwitness.dashboard.stepview import facts, steps_view
from toolwitness.replay.runs import replay_run
from toolwitness.replay.steps import Misfit, VersionCheck
from toolwitness.tests.browser import story


def words(markup):
    """The text of some markup, its white space made single."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup))


@pytest.fixture(name="trouble")
def fixture_trouble(source):
    """The run in which all sorts of things happen, as HTML."""
    return steps_view(replay_run(source, "live-w4-trouble"))


def test_every_decision_is_a_step(source, trouble):
    """Each decision can be opened and closed on its own."""
    assert trouble.count('<details class="step"') == len(replay_run(source, "live-w4-trouble").steps)


def test_the_first_problem_is_open(trouble):
    """The reader lands on what went wrong first."""
    opened = re.findall(r'<details class="step" open><summary>(.*?)</summary>', trouble)
    assert ["book_room" in summary for summary in opened] == [True]


def test_steps_and_calls_are_numbered_as_recorded(trouble):
    """The first step and the first call of a run are the first, as the recorder counts them."""
    assert re.findall(r'<span class="n">(.*?)</span>', trouble) == ["Step 1", "Step 2", "Step 3", "Step 4"]
    assert re.findall(r"Call \d", words(trouble)) == ["Call 1", "Call 2", "Call 3", "Call 4"]


def test_a_denial_names_its_rule(trouble):
    """A rejected call says which gate stopped it, by which rule, and that nothing was attempted."""
    assert "deny policy outside company, rule mail-7 v3" in words(trouble)
    assert "none: stopped by policy" in words(trouble)


def test_a_retry_is_a_further_attempt_of_the_same_call(trouble):
    """Two attempts stand below one call, the second with why it was made."""
    assert "retried because timeout, after waiting 500 ms" in words(trouble)


def test_a_redacted_argument_is_a_chip_with_its_origin(trouble):
    """What was redacted and where it came from can be told without the value."""
    assert "[redacted: personal string, 9-16 chars, email] from user" in words(trouble)


def test_what_could_not_be_seen_is_told_from_what_is_not_known(trouble):
    """A step whose toolset is not known says so, and a tool that was kept away says why."""
    assert "not known what the model could see" in words(trouble)
    assert "files / delete_everything permission" in words(trouble)


def test_a_made_up_tool_cannot_become_markup(trouble):
    """Model text is shown as text."""
    assert story.HOSTILE not in trouble
    assert "not in any catalog" in words(trouble)


def test_later_use_names_where_values_reappear(source):
    """A result says in which calls and steps its new values came up again."""
    run = replay_run(source, "imported-1")
    first = run.calls[0]
    assert f"call {run.calls[1].ordinal} (search_mail)" in words(steps_view(run))
    assert first.used_in_answers
    assert f"step {run.steps[-1].ordinal} (new values reappear there)" in words(steps_view(run))


def test_a_call_without_an_answer_has_nothing_to_use(trouble):
    """A timeout, a denial, an exception and a call that waits for approval left no result."""
    shown = words(trouble)
    assert shown.count("Used later no result") == 4
    assert "not measurable" not in trouble


def test_the_head_says_what_is_not_known(source):
    """A run without times says unknown, and one without a reward shows none."""
    shown = words(facts(replay_run(source, "imported-1")))
    assert "Reward" not in shown
    assert "Started time unknown" in shown


def test_a_call_that_ran_although_denied_is_loud(source):
    """Its step is open, and the call opens with the warning."""
    run = replay_run(source, "imported-1")
    step = run.steps[1]
    loud = dataclasses.replace(step.calls[0], ran_although_denied_by="policy")
    told = dataclasses.replace(run, steps=(run.steps[0], dataclasses.replace(step, calls=(loud,))))
    shown = steps_view(told)
    assert [part.startswith(" open") for part in shown.split('<details class="step"')[1:]] == [False, True]
    assert "Warning: ran although denied by policy" in words(shown)


def test_changed_arguments_are_shown_as_proposed_and_as_executed(source):
    """A reader sees both, and that they differ."""
    run = replay_run(source, "imported-1")
    changed = dataclasses.replace(run.steps[0].calls[0], executed_arguments={"query": "other"})
    shown = words(steps_view(dataclasses.replace(run, steps=(dataclasses.replace(run.steps[0], calls=(changed,)),))))
    assert "Arguments as proposed" in shown
    assert "Arguments as executed differs from the proposal" in shown


def test_each_version_says_whether_the_arguments_fit(source):
    """A call shows the verdict of the version it was proposed under and of the others, with what does not fit or is open."""
    run = replay_run(source, "imported-1")
    checks = (
        VersionCheck(schema_digest="aaaaaaaaaa", verdict="invalid", failures=(Misfit(pointer="/n", keyword="type"),)),
        VersionCheck(schema_digest="bbbbbbbbbb", verdict="indeterminate", failures=(Misfit(pointer="", keyword="anyOf"),)),
    )
    told = dataclasses.replace(run.calls[0], schema_digest="aaaaaaaaaa", argument_checks=checks)

    shown = words(call_card(told, {}))

    assert "invalid the version it was proposed under aaaaaaaa type at /n" in shown
    assert "indeterminate another version bbbbbbbb open: anyOf at the top" in shown


def test_arguments_that_no_schema_judged_are_unknown(source):
    """Without a verdict nothing is claimed."""
    told = dataclasses.replace(replay_run(source, "imported-1").calls[0], argument_checks=())

    assert "Arguments fit unknown" in words(call_card(told, {}))


def test_a_call_in_doubt_leads_to_its_account(source, trouble):
    """From the replay to what a person needs to act on it is one click, for what may have changed something alone."""
    run = replay_run(source, "live-w4-trouble")
    accounts = re.findall(r'href="/submissions\?call=(.*?)"', trouble)
    assert accounts == [call.call for call in run.calls if call.side_effect != "read" and call.outcome != "succeeded"]
    assert "/submissions" not in steps_view(replay_run(source, "live-w0-n1"))
