import pytest

from toolwitness.model.enums import ObservationStatus
from toolwitness.replay.honest import no_use, no_utilisation


@pytest.mark.parametrize(
    ("calls", "not_measurable", "said"),
    [(0, 0, "no calls"), (3, 1, "not measurable"), (3, 3, "not measurable"), (3, 0, "no new values")],
)
def test_a_utilisation_without_denominator_says_why(calls, not_measurable, said):
    """Nothing called, nothing that could be measured and nothing new are three different things."""
    assert no_utilisation(calls=calls, not_measurable=not_measurable) == said


@pytest.mark.parametrize(
    ("observation", "outcome", "said"),
    [
        ("none", "pending", "not finished"),
        ("timeout", "pending", "not finished"),
        ("timeout", "unknown_commit", "no result"),
        ("raised", "failed", "no result"),
        ("none", "rejected", "no result"),
        ("none", "indeterminate", "unknown"),
        ("error", "failed", "the result is an error"),
        ("cut_by_recording", "indeterminate", "not measurable"),
        ("cut_on_wire", "unknown_commit", "not measurable"),
        ("ok", "succeeded", "not seen again"),
    ],
)
def test_a_result_that_was_not_used_says_why(observation, outcome, said):
    """A result that is missing, unfinished, an error or cut off is no unused result."""
    assert no_use(observation, outcome, measurable=True, novel_values=2) == said


@pytest.mark.parametrize(
    ("measurable", "novel_values", "said"),
    [(True, 0, "no new values"), (False, 2, "not measurable"), (False, None, "not measurable")],
)
def test_a_complete_answer_is_told_by_its_new_values(measurable, novel_values, said):
    """Nothing new in it differs from not knowing."""
    assert no_use("ok", "succeeded", measurable=measurable, novel_values=novel_values) == said


@pytest.mark.parametrize("observation", ObservationStatus)
def test_every_observation_has_its_word(observation):
    """No observation falls through to a claim about the tool where nothing was measured."""
    said = no_use(observation.value, "failed", measurable=False, novel_values=None)
    assert said in {"no result", "not measurable", "the result is an error"}
