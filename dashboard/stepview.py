"""A replayed run's steps as HTML: pure functions from what `replay.steps` holds to markup."""

from __future__ import annotations

from collections.abc import Iterable

from toolwitness.dashboard.callview import call_card, fact, shown_name
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.wording import call_name, cut, pill, plain, plural, said, short, unknown, when
from toolwitness.replay.facts import budget_words
from toolwitness.replay.honest import EXPOSURES, LOST_CALL
from toolwitness.replay.steps import CallReplay, RemovedTool, RunReplay, StepReplay, VisibleTool, call_is_lost

_MOST_TOOLS = 150
_CALM_OUTCOMES = frozenset({"succeeded"})


def names_of(run: RunReplay) -> dict[str, str]:
    """How calls and decisions of the run are called on the page, by their ids."""
    steps = {step.decision: f"step {step.ordinal}" for step in run.steps if step.decision}
    calls = {call.call: f"{call_name(call.ordinal)} ({call.tool})" for call in run.calls}
    return steps | calls


def facts(run: RunReplay) -> Markup:
    """The head of a replay: what the run was and how it ended."""
    outcome = join([pill(run.outcome), tag("span", " by ", plain(run.outcome_source), class_="soft")])
    pairs: list[tuple[str, Child]] = [
        ("Outcome", outcome if run.outcome != "unknown" else unknown()),
        *([] if run.reward is None else [("Reward", said(run.reward))]),
        *([] if run.stopped_by == "unknown" else [("Stopped by", plain(run.stopped_by))]),
        ("Task", said(run.task)),
        *([] if run.trial is None else [("Trial", said(run.trial))]),
        ("Agent", said(run.agent)),
        ("Source", run.source),
        ("Started", when(run.started)),
        ("Week", said(run.week)),
        ("Decisions", plural(len(run.steps), "step")),
        ("Calls", plural(len(run.calls), "call")),
    ]
    parts = [tag("div", tag("dt", key), tag("dd", value)) for key, value in pairs]
    # Ids are long: a row of its own keeps them whole.
    budget = ", ".join(map(budget_words, run.budget))
    limits = [tag("div", tag("dt", "Budget"), tag("dd", budget), class_="wide")] if budget else []
    own_row = tag("div", tag("dt", "Run id"), tag("dd", tag("code", run.run, title=run.run)), class_="wide")
    return tag("dl", *parts, *limits, own_row, class_="facts")


def _tool(tool: VisibleTool) -> Markup:
    parts: list[Child] = [shown_name(tool.server, tool.tool), " "]
    parts.append(short(tool.schema_digest) if tool.schema_digest else unknown("schema unknown"))
    if tool.tool_version:
        parts.append(tag("span", " v", tool.tool_version, class_="soft"))
    return tag("li", *parts)


def _visible(step: StepReplay) -> Markup:
    if step.visible is None:
        return fact("Visible", unknown("not known what the model could see"))
    whole = {"yes": "", "no": " (not all that the model saw)"}.get(step.visibility, " (not known whether this is all)")
    shown = step.visible[:_MOST_TOOLS]
    listed = tag("ul", *(_tool(tool) for tool in shown), class_="tools")
    counted = cut(len(shown), len(step.visible), "tools" if len(step.visible) != 1 else "tool")
    digest = join([" ", tag("span", "version ", class_="soft"), short(step.toolset_digest)])
    summary = tag("summary", counted, whole, digest)
    return fact("Visible", tag("details", summary, listed))


def _removed(removals: Iterable[RemovedTool]) -> Markup | None:
    items = [
        tag("li", shown_name(gone.server, gone.tool), tag("span", " ", plain(gone.reason), class_="soft")) for gone in removals
    ]
    return fact("Kept away", tag("ul", *items, class_="plain")) if items else None


def _exposure(step: StepReplay) -> Markup:
    parts: list[Child] = [unknown() if step.exposure == "unknown" else EXPOSURES.get(step.exposure, plain(step.exposure))]
    if step.fallback_reason:
        parts.append(f", fallback because {plain(step.fallback_reason)}")
    if step.skill:
        parts.append(f", skill {step.skill}" + (f" ({step.skill_reason})" if step.skill_reason else ""))
    return fact("Offered", *parts)


def _chosen(step: StepReplay) -> Markup:
    if step.calls:
        return fact("Chosen", join((shown_name(call.server, call.tool) for call in step.calls), ", "))
    if call_is_lost(step):
        return fact("Chosen", unknown(LOST_CALL))
    return fact("Chosen", tag("span", "no tool; the model ", _finish(step.finish), class_="soft"))


def _finish(finish: str) -> str:
    words = {
        "answered": "answered",
        "asked_user": "asked the user",
        "refused": "refused",
        "failed": "failed",
    }
    return words.get(finish, "ended in an unknown way")


def _not_known(unknowns: Iterable[str]) -> Markup | None:
    listed = [plain(item) for item in unknowns]
    return fact("Not known", unknown("; ".join(listed))) if listed else None


def _marks(calls: Iterable[CallReplay]) -> Markup:
    """The outcomes of a step's calls, each once; a calm step shows none but its success."""
    outcomes = list(dict.fromkeys("ran_although_denied" if call.ran_although_denied_by else call.outcome for call in calls))
    remarkable = [outcome for outcome in outcomes if outcome not in _CALM_OUTCOMES]
    return join((pill(outcome) for outcome in remarkable or outcomes), " ")


def _headline(step: StepReplay) -> Markup:
    if step.decision is None:
        what: Child = tag("span", "calls whose decision is not known", class_="unknown")
    elif step.calls:
        what = join((shown_name(call.server, call.tool) for call in step.calls), ", ")
    elif call_is_lost(step):
        what = unknown(LOST_CALL)
    else:
        what = tag("span", _finish(step.finish), class_="soft")
    return tag(
        "summary",
        tag("span", "No step" if step.ordinal is None else f"Step {step.ordinal}", class_="n"),
        tag("span", what, class_="grow"),
        _marks(step.calls),
    )


def step_view(step: StepReplay, names: dict[str, str], *, opened: bool) -> Markup:
    """One decision, closed or opened: what was visible, what was chosen, then each call."""
    used = [names.get(source, source) for source in step.answer_sources]
    body = [
        fact("Model", said(step.model), tag("span", f" ({step.provider})", class_="soft") if step.provider else None),
        _visible(step),
        _removed(step.removals),
        _exposure(step),
        _chosen(step),
        fact("Answer rests on", "new values from ", ", ".join(used)) if used else None,
        _not_known(step.unknown),
        *(call_card(call, names) for call in step.calls),
    ]
    return tag("details", _headline(step), tag("div", *body, class_="body"), class_="step", open=opened)


def steps_view(run: RunReplay) -> Markup:
    """Every step of the run.

    Open are the first with a call that did not succeed, or the first where there is none, and each with a call that ran
    although it was denied.
    """
    names = names_of(run)
    open_ones = {at for at, step in enumerate(run.steps) if any(call.outcome not in _CALM_OUTCOMES for call in step.calls)}
    loud = {at for at, step in enumerate(run.steps) if any(call.ran_although_denied_by for call in step.calls)}
    opened = loud | {min(open_ones | loud, default=0)}
    steps = (step_view(step, names, opened=at in opened) for at, step in enumerate(run.steps))
    return tag("div", *steps, class_="tw")
