import pytest

from toolwitness.model.enums import ObservationStatus
from toolwitness.replay.honest import no_use, no_utilisation


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((0, 0, 0, 0), "no calls"),
        ((3, 0, 2, 1), "not measurable"),
        ((3, 1, 2, 0), "no new values"),
        ((3, 1, 0, 0), "no result"),
        ((3, 3, 0, 0), "error"),
    ],
)
def test_a_utilisation_without_denominator_says_why(counts, said):
    """No new values is said only where a complete answer was searched."""
    names = ("calls", "errors", "measured", "not_measurable")
    assert no_utilisation(**dict(zip(names, counts, strict=True))) == said


@pytest.mark.parametrize(
    ("observation", "outcome", "said"),
    [
        ("none", "pending", "no result"),
        ("timeout", "pending", "no result"),
        ("timeout", "unknown_commit", "no result"),
        ("raised", "failed", "no result"),
        ("none", "rejected", "no result"),
        ("none", "indeterminate", "unknown"),
        ("none", "cancelled", "no result"),
        ("error", "failed", "error"),
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
    assert said in {"no result", "not measurable", "error"}
