"""The table of rules is the function `model.outcome`."""

from toolwitness.collector.store.store import Store
from toolwitness.model.enums import ObservationStatus, Outcome
from toolwitness.model.outcome import Evidence, every_evidence, outcome
from toolwitness.tests.factories import History


def test_every_row_is_what_the_function_says(rows_of):
    """Each combination of evidence stands there once, with its outcome."""
    columns = [*Evidence._fields, "outcome"]
    stored = [tuple(row[name] for name in columns) for row in rows_of("select * from outcome_rule")]
    expected = [(*evidence, outcome(evidence)) for evidence in every_evidence()]
    assert len(stored) == len(expected)
    assert set(stored) == set(expected)


def test_rules_of_another_release_are_replaced_and_calls_judged_again(store, path, spoil):
    """A file whose rules differ gets those of this release, and its calls their outcomes."""
    history = History()
    history.call(history.run("r"), "look", ObservationStatus.EMPTY)
    store.write_group([history.rows])
    spoil(
        "update outcome_rule set outcome = 'failed'",
        "update calls set outcome = 'failed'",
        "update meta set value = 'other' where key = 'outcome_rule_digest'",
    )
    opened = Store.open(path)
    outcomes = opened.read(lambda cursor: cursor.sql("select outcome from calls").fetchall())
    kinds = opened.read(lambda cursor: cursor.sql("select count(distinct outcome) from outcome_rule").fetchall())
    opened.close()
    assert (outcomes, kinds) == ([("empty",)], [(len(Outcome),)])
