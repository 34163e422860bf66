"""How figures, times and states are said: one place for number formats, words and their tones.

None is said as *unknown*: never as 0 and never as a blank. `replay.honest` has the words for figures that are not there.
"""

from __future__ import annotations

from datetime import datetime

from toolwitness.dashboard.markup import Markup, join, tag
from toolwitness.replay.honest import NOT_MEASURABLE, UNKNOWN

EVERY = "all"
DEMO = "demo"

_GOOD, _BAD, _WARN, _HOLD, _CALM = "good", "bad", "warn", "hold", "calm"
_TONES = {
    # outcomes of calls
    "succeeded": _GOOD,
    "partial": _WARN,
    "empty": _CALM,
    "business_rejected": _WARN,
    "rejected": _HOLD,
    "pending": _HOLD,
    "failed": _BAD,
    "unknown_commit": _WARN,
    "cancelled": _CALM,
    "skipped": _CALM,
    "indeterminate": _CALM,
    # outcomes of runs
    "success": _GOOD,
    "failure": _BAD,
    "handed_off": _HOLD,
    "abandoned": _BAD,
    # verdicts of gates
    "allow": _GOOD,
    "deny": _HOLD,
    "needs_approval": _HOLD,
    "modify": _WARN,
    "skip": _CALM,
    # verdicts of schemas; invalid stands among the observations
    "valid": _GOOD,
    # attempts, observations, findings
    "ok": _GOOD,
    "error": _BAD,
    "business_error": _WARN,
    "raised": _BAD,
    "timeout": _WARN,
    "open": _HOLD,
    "invalid": _BAD,
    "cut_on_wire": _WARN,
    "committed": _GOOD,
    "not_committed": _CALM,
    "still_unknown": _WARN,
    "ran_although_denied": _BAD,
    # submissions
    "duplicate_risk": _BAD,
    "duplicate": _BAD,
    "tried_again_in_doubt": _BAD,
    "safe": _GOOD,
    "unsafe": _BAD,
    "task_failed_after_ok_calls": _BAD,
    "task_failed_without_calls": _BAD,
}
_SIGNS = {"rejected": "⊘", "deny": "⊘"}
_MARKS = {_GOOD: "✓", _BAD: "✕", _WARN: "!", _HOLD: "◷", _CALM: "○"}


def plain(word: str) -> str:
    """A name of the model as a reader's words: underscores become spaces."""
    return word.replace("_", " ")


def tone(word: str) -> str:
    """The tone that a state is drawn in; states without one are calm."""
    return _TONES.get(word, _CALM)


def pill(word: str) -> Markup:
    """A state as a coloured mark that also says it in a sign and a word."""
    return tag(
        "span",
        tag("span", _SIGNS.get(word, _MARKS[tone(word)]), aria_hidden="true"),
        " ",
        plain(word),
        class_=f"pill {tone(word)}",
    )


def unknown(word: str = UNKNOWN) -> Markup:
    """A fact that is not there, said so."""
    return tag("span", word, class_="unknown")


def absent(why: str) -> Markup:
    """Why a figure is not there; where nobody can know it, marked as such."""
    return unknown(why) if why in {NOT_MEASURABLE, UNKNOWN} else tag("span", why, class_="soft")


def said(value: object) -> Markup:
    """A recorded fact as text, or *unknown*; an enum's name in a reader's words is the caller's affair."""
    return unknown() if value is None or value in {"", UNKNOWN} else join([value])


def count(number: int | None) -> Markup:
    """A count with thousands separators; zeros step back, None is *unknown*."""
    if number is None:
        return unknown()
    return tag("span", "0", class_="zero") if number == 0 else Markup(f"{number:,}")


def of(part: int | None, whole: int | None) -> str:
    """`n of m`, the numerator with its denominator."""
    return UNKNOWN if part is None or whole is None else f"{part:,} of {whole:,}"


def percent(rate: float) -> str:
    """A rate as a percentage with one decimal; only exactly 0 and 1 are shown as 0% and 100%."""
    if rate in {0.0, 1.0}:
        return f"{rate:.0%}"
    shown = min(max(round(rate * 100, 1), 0.1), 99.9)
    return f"{shown:.1f}%"


def when(iso: str | None) -> Markup:
    """A time in UTC to the minute, and said so; or *time unknown*."""
    if iso is None:
        return unknown("time unknown")
    moment = datetime.fromisoformat(iso)
    return tag("time", f"{moment:%Y-%m-%d %H:%M} UTC", datetime=iso, title=iso, class_="nowrap")


_SECOND_MS = 1_000.0
_MINUTE_MS = 60_000.0


def lasted(milliseconds: float | None) -> str:
    """A duration in the unit that fits, or *unknown*."""
    if milliseconds is None:
        return UNKNOWN
    if milliseconds < 1:
        return "under 1 ms"
    if milliseconds < _SECOND_MS:
        return f"{milliseconds:.0f} ms"
    if milliseconds < _MINUTE_MS:
        return f"{milliseconds / _SECOND_MS:.1f} s"
    return f"{milliseconds / _MINUTE_MS:.1f} min"


_AGES = ((86_400.0, "day", 2.0), (3_600.0, "h", 1.0), (60.0, "min", 1.0))


def aged(seconds: float | None, started: str | None = None) -> Markup:
    """How long ago something began, in the largest unit that tells it; with `started`, the time, in the tooltip."""
    if seconds is None:
        return unknown("age unknown")
    for unit, name, least in _AGES:
        if seconds >= unit * least:
            number = int(seconds // unit)
            return tag("span", plural(number, name) if name == "day" else f"{number} {name}", title=started, class_="nowrap")
    return tag("span", "under 1 min", title=started, class_="nowrap")


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 call`, `2 calls`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_DIGEST_SHOWN = 8


def short(digest: str | None) -> Markup:
    """The first digits of a digest or long id, the whole in its tooltip."""
    if not digest:
        return unknown()
    return tag("code", digest[:_DIGEST_SHOWN], title=digest)


def call_name(ordinal: int | None) -> str:
    """A call by its place in the run as recorded, from 1; one whose own span is missing has none."""
    return "call" if ordinal is None else f"call {ordinal}"


def tool_name(server: str | None, tool: str | None) -> str:
    """A tool by its identity on one line."""
    return f"{server} / {tool}" if server else str(tool)


def cut(shown: int, total: int, things: str) -> str:
    """Whether a list was cut: `first 500 of 1,234 runs`, or `12 runs` where it was not."""
    return f"first {shown:,} of {total:,} {things}" if shown < total else f"{total:,} {things}"
