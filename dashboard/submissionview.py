"""Submissions as HTML: the list of writing calls that did not simply succeed, and the account of one (U2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from toolwitness.dashboard import links
from toolwitness.dashboard.callview import shown_name
from toolwitness.dashboard.listing import table
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.payload import brief
from toolwitness.dashboard.wording import aged, count, pill, plain, plural, said, unknown, when
from toolwitness.replay.advice import Step
from toolwitness.replay.submissions import Submission

STATE_WORDS = {
    "unsettled": "Unsettled",
    "twice": "Perhaps done twice",
    "failed": "Failed",
    "stopped": "Stopped before it ran",
    "done": "Done",
}
"""The states of `replay.submissions`, as headings and choices."""
_EFFECTS = {
    "yes": ("Yes", "good"),
    "twice": ("Yes, perhaps twice", "bad"),
    "partly": ("In part", "warn"),
    "no": ("No", "calm"),
    "says_no": ("No, says the tool", "calm"),
    "not_yet": ("Not yet", "hold"),
    "accepted": ("Accepted, not known to be done", "warn"),
    "unknown": ("Not known", "warn"),
}
"""What is said of the words of `accounts.committed`, and in which tone."""
_RETRIES = {
    "safe": "Yes",
    "unsafe": "No",
    "unknown": "Not known",
    "not_needed": "Not needed",
}
STEP_WORDS = {
    Step.SETTLE: "find out whether it took effect",
    Step.SETTLE_REPEAT: "settle the later call of the same first",
    Step.RETRY_SAME_KEY: "send it again with the same key, or settle it",
    Step.WAIT: "wait for its end, or settle it",
    Step.APPROVE: "approve or deny it",
    Step.SEE_REPEAT: "look at the later call of the same",
    Step.CHECK_TWICE: "find out how often it took effect",
    Step.CONFIRM: "ask whether it was done",
    Step.RETRY_ITEMS: "send only the failed items again",
    Step.ANSWER_GATE: "change what stopped it",
    Step.RUN_DEPENDENCY: "see why it was skipped",
    Step.CORRECT: "correct the arguments",
    Step.RECOVER: "act on its error",
    Step.START_AGAIN: "ask again if it is still wanted",
    Step.NOTHING: "nothing",
}
"""The next step in a few words."""
_OLDEST_FIRST = frozenset({"unsettled", "twice"})
_CODE = re.compile(r"`([^`]+)`")


def headline(counts: Mapping[str, int], oldest: Submission | None) -> list[tuple[str, Child, Child]]:
    """The figures at the top: writing calls by state, each of all of them, and how old the oldest doubt is."""
    whole = sum(counts.values())
    of_all = f"of {plural(whole, 'writing call')}"
    figures: list[tuple[str, Child, Child]] = [(STATE_WORDS[state], count(number), of_all) for state, number in counts.items()]
    doubt: Child = tag("span", "none", class_="soft") if oldest is None else aged(oldest.age_s)
    return [
        *figures,
        ("Oldest unsettled", doubt, None if oldest is None else f"of {plural(counts['unsettled'], 'unsettled call')}"),
    ]


def order(states: Sequence[str]) -> str:
    """The order of a list of these states, in words."""
    if len(states) == 1:
        return "oldest first." if states[0] in _OLDEST_FIRST else "newest first."
    return "in doubt first, then what may have been done twice, each oldest first; the rest newest first."


# -- the list ----------------------------------------------------------------------------------------------------------

_HEADS = (
    ("Call", None),
    ("What became of it", None),
    ("What was asked (redacted)", None),
    ("Send it again?", None),
    ("Next step, owner", None),
    ("Run, session", None),
    ("Age", "num"),
)
_SHARES = (15, 13, 24, 9, 15, 15, 9)


def _under(content: Child) -> Markup:
    return tag("span", content, class_="under")


def _doubles(one: Submission) -> Markup | None:
    """That it may be done twice, was, or that nobody can tell."""
    if one.duplicate:
        return pill("duplicate")
    if one.duplicate_risk:
        return pill("duplicate_risk")
    return None


def _tries(one: Submission) -> str:
    return plural(len(one.attempts), "attempt") if one.attempts else "no attempt recorded"


def became(one: Submission) -> Markup:
    """The outcome, with what makes it worse."""
    marks = [pill(one.outcome), _doubles(one), pill("tried_again_in_doubt") if one.retried_in_doubt else None]
    return join([mark for mark in marks if mark is not None], " ")


def step(one: Submission) -> str:
    """The next step in a few words."""
    words = STEP_WORDS[Step(one.step)]
    return words[:1].upper() + words[1:]


def _run(one: Submission) -> Markup:
    if one.run is None:
        return unknown("run unknown")
    label = tag("span", one.task or one.run, class_="clamp")
    return join([links.to_run(one.run, label), _under(one.session) if one.session else None])


def list_table(found: Iterable[Submission], address_of: Callable[[str], str]) -> Markup:
    """Submissions, one a row; `address_of` makes the link to a call's account."""

    def row(one: Submission) -> Markup:
        name = join(
            [links.link(one.tool, address_of(one.call), title=f"call {one.call}"), _under(one.server) if one.server else None]
        )
        asked = unknown("not recorded") if one.arguments is None else brief(one.arguments)
        cells = (join([became(one), _under(_tries(one))]), asked, pill(one.retry), _whom(one), _run(one))
        return tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", cell) for cell in cells),
            tag("td", aged(one.age_s, one.started), class_="num"),
        )

    return table("Submissions", _HEADS, (row(one) for one in found), shares=_SHARES)


def _whom(one: Submission) -> Markup:
    return join([step(one), _under(unknown("owner unknown") if one.owner == "unknown" else one.owner)])


# -- the account -------------------------------------------------------------------------------------------------------


def title(one: Submission) -> Markup:
    """The tool and what became of its call."""
    return join([shown_name(one.server, one.tool), " ", became(one)])


def _answer(question: str, answer: Child, why: Child, tone: str) -> Markup:
    head = tag("div", question, class_="label")
    return tag("div", head, tag("div", answer, class_="value"), tag("div", why, class_="why"), class_=f"answer {tone}")


def _effect(one: Submission) -> Markup:
    answer, tone = _EFFECTS[one.committed]
    return _answer("Did it take effect?", answer, next(iter(one.known), None), tone)


def answers(one: Submission) -> Markup:
    """The three questions of somebody who has to act: did it take effect, may it be sent again, who must act."""
    tone = {"safe": "good", "unsafe": "bad", "unknown": "warn"}.get(one.retry, "calm")
    owner: Child = unknown("Not known") if one.owner == "unknown" else one.owner
    who, what = ("Nobody", "Nothing is left to do.") if one.step == Step.NOTHING else (owner, f"{step(one)}.")
    boxes = (
        _effect(one),
        _answer("May it be sent again?", _RETRIES[one.retry], one.why, tone),
        _answer("Who must act?", who, what, "calm"),
    )
    return tag("div", *boxes, class_="tw answers")


def next_step(one: Submission) -> Markup:
    """The next step in full, its commands as code."""
    parts = _CODE.split(one.next_step)
    told = (tag("code", part, class_="command") if at % 2 else part for at, part in enumerate(parts))
    return tag("p", tag("strong", "Next step: "), *told, class_="tw step")


def _sentences(head: str, sentences: Sequence[str], none: str) -> Markup:
    listed = tag("ul", *(tag("li", sentence) for sentence in sentences)) if sentences else tag("p", none, class_="soft")
    return tag("section", tag("h3", head), listed)


def known_and_not(one: Submission) -> Markup:
    """What is known and what is not, side by side."""
    columns = (_sentences("Known", one.known, "nothing"), _sentences("Not known", one.unknown, "nothing that matters here"))
    return tag("div", *columns, class_="tw sides")


def _duplicates(one: Submission, address_of: Callable[[str], str]) -> Markup:
    if one.duplicate_risk is None or one.duplicate is None:
        return unknown("not known: what it or a later call of the tool asked for is not recorded")
    if one.repeated_by and (one.duplicate or one.duplicate_risk):
        again = links.link(join(["call ", tag("code", one.repeated_by)]), address_of(one.repeated_by))
        word = "done again after it was found to be committed: " if one.duplicate else "asked for again before it was settled: "
        return join([word, again])
    if one.retried_in_doubt:
        return join(["tried again after an attempt that may have taken effect"])
    follower = "another call of the tool came later, with other arguments" if one.followed_by_same_tool else None
    return join(["the same was not asked for again", f"; {follower}" if follower else None])


def _whole_run(one: Submission) -> Markup:
    """The run by its task and its whole id."""
    if one.run is None:
        return unknown("run unknown")
    number = tag("code", one.run, class_="id")
    return links.to_run(one.run, number) if one.task is None else join([links.to_run(one.run, one.task), " ", number])


def facts(one: Submission, address_of: Callable[[str], str]) -> Markup:
    """Which call of which run it was, and what hangs on it."""
    pairs: list[tuple[str, Child]] = [
        ("State", STATE_WORDS[one.state]),
        ("Age", aged(one.age_s)),
        ("Started", when(one.started)),
        ("Effect", unknown("side effect unknown") if one.side_effect == "unknown" else plain(one.side_effect)),
        ("Agent", said(one.agent)),
        ("Session", said(one.session)),
        ("Action id", said(one.action_id)),
        ("Source", said(one.source)),
    ]
    parts = [tag("div", tag("dt", key), tag("dd", value)) for key, value in pairs]
    rows = (("Run", _whole_run(one)), ("Duplicate risk", _duplicates(one, address_of)), ("Call id", tag("code", one.call)))
    wide = [tag("div", tag("dt", key), tag("dd", value), class_="wide") for key, value in rows]
    return tag("dl", *parts, *wide, class_="facts")
