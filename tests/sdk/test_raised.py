"""What is kept of an exception: types and places, no text and no object."""

import gc
import weakref

import pytest

import toolwitness
from toolwitness.sdk.raised import MOST_CAUSES, MOST_FRAMES, Frame, cause_names, frame_texts, raised

SECRET = "canary" + "-7f3a9"


class CardError(Exception):
    """An application's own."""


def deep(depth, error):
    """Raise from so many calls below."""
    if depth:
        deep(depth - 1, error)
    hidden = SECRET  # noqa: F841 -- a local that must not be found
    raise error


def caught(work):
    """The exception that the work raises."""
    with pytest.raises(Exception) as seen:  # noqa: PT011 -- whichever it is
        work()
    return seen.value


def chained():
    """Raise one error from another, while handling a third."""
    try:
        try:
            raise KeyError(SECRET)  # noqa: TRY301 -- a chain in one place
        except KeyError:
            raise ConnectionError(SECRET)  # noqa: B904 -- the context is what is looked at
    except ConnectionError as error:
        raise CardError(SECRET) from error


def test_a_failed_attempt_tells_causes_and_places(live):
    """Innermost frame last, our own wrapper not among them, and nothing of the texts."""

    @toolwitness.tool
    def pay():
        chained()

    with pytest.raises(CardError):
        pay()
    (attempt,) = live("attempt")
    assert attempt.error_causes == ("ConnectionError", "KeyError")
    modules, functions, lines = zip(*(frame.split(":") for frame in attempt.error_frames), strict=True)
    assert set(modules) == {__name__}
    assert functions == ("pay", "chained")
    assert all(int(line) > 0 for line in lines)
    assert SECRET not in repr(attempt)


def test_an_attempt_that_went_well_tells_none(live):
    """Nothing raised, nothing kept."""

    @toolwitness.tool
    def pay():
        return 1

    pay()
    (attempt,) = live("attempt")
    assert (attempt.error_causes, attempt.error_frames) == ((), ())


def test_a_context_that_was_suppressed_is_no_cause():
    """As in the traceback that Python prints."""

    def work():
        try:
            raise KeyError(SECRET)  # noqa: TRY301 -- a chain in one place
        except KeyError:
            raise CardError(SECRET) from None

    assert raised(caught(work)).causes == ()


def test_both_lists_are_bounded():
    """Of a deep stack the innermost frames are kept; a chain that leads back to itself ends."""
    error = CardError()
    first = error
    for _ in range(9):
        error.__cause__ = CardError()
        error = error.__cause__
    error.__cause__ = first
    found = raised(caught(lambda: deep(50, first)))
    assert (len(found.causes), len(found.frames)) == (MOST_CAUSES, MOST_FRAMES)
    assert {frame.function for frame in found.frames} == {"deep"}


def test_nothing_is_kept_alive():
    """Neither the exception nor what its frames hold."""

    class Held:
        pass

    kept = []

    def work():
        held = Held()
        kept.append(weakref.ref(held))
        raise CardError(held)

    def told():
        try:
            work()
        except CardError as error:
            return raised(error)

    found = told()
    gc.collect()
    assert (found.frames[-1].function, kept[0]()) == ("work", None)


def test_names_that_are_no_identifiers_are_left_out():
    """Code and types that were made at run time may be called anything."""
    made = compile("def f():\n    raise type('jo@example.org', (ValueError,), {})('x')\nf()", "<made>", "exec")
    error = caught(lambda: exec(made, {"__name__": f"my {SECRET}"}))  # noqa: S102 -- ours
    texts = frame_texts(raised(error).frames)
    assert texts[-2:] == ("?:<module>:3", "?:f:2")
    assert frame_texts([Frame("a.b", f"<{SECRET}>", None), Frame(None, "f", 1)]) == ("a.b:?:0", "?:f:1")
    assert cause_names(("jo@example.org", "KeyError", 7)) == ("Exception", "KeyError")


def test_no_code_of_the_exception_runs():
    """Its class may say anything about itself."""

    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError(name)

    class Liar(Exception, metaclass=Meta):  # noqa: N818 -- what it is called is the point
        def __getattribute__(self, name):
            raise AssertionError(name)

    def work():
        raise CardError from Liar()

    assert raised(caught(work)).causes == ("Liar",)


def test_an_exception_that_was_never_raised_has_no_place():
    """A loop may tell of one that it was handed."""
    assert raised(CardError())[:2] == ((), ())
