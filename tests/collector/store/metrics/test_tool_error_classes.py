from toolwitness.model.enums import ErrorClass, ObservationStatus
from toolwitness.tests.factories import History


def test_errors_stand_by_class_and_add_up(ask):
    """Errors without a class are unclassified; timeouts have a class of their own count and stay out."""
    history = History()
    history.call("r", "a", ObservationStatus.ERROR, error_class=ErrorClass.VALIDATION)
    history.call("r", "a", ObservationStatus.RAISED, error_class=ErrorClass.VALIDATION)
    history.call("r", "a", ObservationStatus.ERROR)
    history.call("r", "a", ObservationStatus.TIMEOUT, error_class=ErrorClass.TEMPORARY)
    history.call("r", "a")

    rows = ask(history, "tool_error_classes", by_week=False)

    assert {row["error_class"]: row["errors"] for row in rows} == {"validation": 2, "unclassified": 1}
