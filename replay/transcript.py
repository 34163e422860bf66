"""One run for a terminal, step by step: what was visible, chosen, checked, attempted, observed and used later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolwitness.model.enums import ErrorClass, Outcome
from toolwitness.model.errors import next_step
from toolwitness.redaction.placeholder import TAG, is_placeholder
from toolwitness.replay import doubts
from toolwitness.replay.facts import (
    approval_words,
    batch_words,
    beside_words,
    budget_words,
    called_off_words,
    conflict_words,
)
from toolwitness.replay.honest import EXPOSURES, FLAGS, LOST_CALL, misfits, no_use
from toolwitness.replay.steps import (
    AttemptReplay,
    CallReplay,
    GateReplay,
    ReconciliationReplay,
    RunReplay,
    StepReplay,
    VersionCheck,
    answer_is_unknown,
    call_is_lost,
)
from toolwitness.replay.tables import tool_name, word

_LONGEST_VALUE = 300
_MOST_TOOLS = 8
_DIGEST_SHOWN = 8
_TO_ACT_ON = {Outcome.FAILED, Outcome.UNKNOWN_COMMIT}
_TO_TRIAGE = {*_TO_ACT_ON, Outcome.INDETERMINATE, Outcome.PENDING}
_UNKNOWN_STYLE = "yellow"
_WARNING_STYLE = "bold red"
_STEP_INDENT, _CALL_INDENT, _DETAIL_INDENT = 2, 4, 6


def _readable(value: Any) -> Any:
    """The value with redaction placeholders as short text, such as `<personal string 9-16>`."""
    if is_placeholder(value):
        body = value[TAG] if isinstance(value[TAG], dict) else {}
        return f"<{' '.join(str(body[key]) for key in ('c', 't', 'len') if key in body)}>"
    if isinstance(value, dict):
        return {key: _readable(inner) for key, inner in value.items()}
    return [_readable(inner) for inner in value] if isinstance(value, list) else value


def value_text(value: Any) -> str:
    """A redacted value as one line of text, cut where it is long."""
    shown = _readable(value)
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}... ({len(text)} characters)"


def _short(digest: str | None) -> str:
    return digest[:_DIGEST_SHOWN] if digest else "unknown"


def _unknown_line(unknown: tuple[str, ...]) -> list[Text]:
    return [Text(f"unknown: {', '.join(unknown)}", style=_UNKNOWN_STYLE)] if unknown else []


def _bracketed(facts: Iterable[str | None]) -> str:
    known = [fact for fact in facts if fact]
    return f" ({', '.join(known)})" if known else ""


def _gate_line(gate: GateReplay, proposed: str | None) -> str:
    observed = "; observed only, stops nothing" if gate.mode == "observed" else ""
    rule = f"rule {gate.rule_id} {gate.rule_version or ''}".rstrip() if gate.rule_id else None
    approver = f"by {gate.approver}" if gate.approver else None
    approved = approval_words(gate, proposed)
    reasons = _bracketed((gate.reason_code, rule, gate.contract, approver, *approved, *gate.pointers, *gate.keywords))
    return f"gate {gate.kind}: {gate.verdict}{reasons}{observed}"


def _attempt_line(attempt: AttemptReplay) -> str:
    said = (
        f"sent {attempt.sent}",
        attempt.error_class,
        attempt.error_type,
        attempt.vendor_code,
        None if attempt.remote_status is None else f"status {attempt.remote_status}",
        f"retry: {attempt.retry_reason}" if attempt.retry_reason else None,
        "no effect proven" if attempt.effect_ruled_out else None,
        None if attempt.duration_ms is None else f"{attempt.duration_ms:.1f} ms",
    )
    return f"attempt {attempt.ordinal}: {attempt.status}{_bracketed(said)}"


def _attempt_lines(attempt: AttemptReplay) -> Iterator[str]:
    yield _attempt_line(attempt)
    if attempt.error_causes:
        yield f"  caused by {', '.join(attempt.error_causes)}"
    if attempt.error_frames:
        yield f"  raised at {' > '.join(attempt.error_frames)}"


def _use_line(call: CallReplay, names: Mapping[str, str]) -> str:
    users = [names.get(user, user) for user in (*call.used_in_arguments, *call.used_in_answers)]
    if users:
        return f"used later in {', '.join(dict.fromkeys(users))}"
    measurable = doubts.LATER_USE not in call.unknown
    return f"used later: {no_use(call.observation, call.outcome, measurable=measurable, novel_values=call.novel_values)}"


def _observation_line(call: CallReplay) -> str:
    if answer_is_unknown(call):
        return "observation not known"
    outer = "" if call.transport_status in {call.observation, "none"} else f" (outer layer: {call.transport_status})"
    error = _bracketed((call.error_class, call.error_type, call.vendor_code))
    result = "" if call.result is None else f": {value_text(call.result)}"
    return f"observation {call.observation}{outer}{error}{result}"


def _arguments_lines(call: CallReplay, names: Mapping[str, str]) -> Iterator[str]:
    if call.arguments is not None:
        proposed = "" if call.executed_arguments is None else " as proposed"
        yield f"arguments{proposed} {value_text(call.arguments)}"
    if call.executed_arguments is not None:
        yield f"arguments as executed {value_text(call.executed_arguments)} (differs from the proposal)"
    if call.repeat_of:
        yield f"same tool and arguments as {names.get(call.repeat_of, call.repeat_of)}"


def _version_line(check: VersionCheck, own: str | None) -> str:
    """What a version of the schema says of the arguments; the one of the call is named so."""
    which = "their schema" if check.schema_digest == own else f"version {_short(check.schema_digest)}"
    return f"arguments {check.verdict} under {which}{_bracketed(misfits(check))}"


def _call_lines(call: CallReplay, names: Mapping[str, str]) -> Iterator[str | Text]:
    """The lines under a call's heading."""
    if call.ran_although_denied_by:
        yield Text(f"warning: ran although denied by {call.ran_although_denied_by}", style=_WARNING_STYLE)
    warnings = (*(FLAGS.get(flag, flag) for flag in call.flags), *conflict_words(call, names))
    yield from (Text(f"warning: {warning}", style=_WARNING_STYLE) for warning in warnings)
    versions = f"schema {_short(call.schema_digest)}"
    if call.validated_schema_digest is not None:
        versions += f", validated by a gate against {_short(call.validated_schema_digest)}"
    yield f"{versions}; visible {call.visible}, registered {call.registered}, side effect {call.side_effect}"
    yield from _arguments_lines(call, names)
    yield from (_version_line(check, call.schema_digest) for check in call.argument_checks)
    beside = beside_words(call, names)
    if beside:
        yield "; ".join(beside)
    yield from (_gate_line(gate, call.arguments_digest) for gate in call.gates)
    for attempt in call.attempts:
        yield from _attempt_lines(attempt)
    if not call.attempts:
        yield "no attempt recorded"
    yield from filter(None, (called_off_words(call), batch_words(call)))
    yield _observation_line(call)
    if call.error_class is not None and call.outcome in _TO_ACT_ON:
        step = next_step(ErrorClass(call.error_class), Outcome(call.outcome))
        yield f"next step: {step.recovery} (retry of the same: {step.retry})"
    if call.side_effect != "read" and call.outcome in _TO_TRIAGE:
        yield f"did it commit, may it be retried, who must act: toolwitness triage {call.call}"
    if call.discovery_hits:
        yield f"search hits: {', '.join(tool_name(hit.server, hit.tool) for hit in call.discovery_hits)}"
    yield from map(_finding_line, call.reconciliations)
    yield _use_line(call, names)
    yield from _unknown_line(call.unknown)


def _finding_line(found: ReconciliationReplay) -> str:
    by = f"{found.method}, {found.found_by}" if found.found_by else found.method
    why = "" if found.reason is None else f": {value_text(found.reason)}"
    return f"found later: {found.finding} ({by}, {found.found or 'time unknown'}){why}"


def _call_view(call: CallReplay, names: Mapping[str, str]) -> Iterator[RenderableType]:
    via = f" via {call.via}" if call.via else ""
    heading = f"{names[call.call]}: {tool_name(call.server, call.tool)}{via} -> "
    yield _indented(Text.assemble((heading, "bold"), word(call.outcome)), _CALL_INDENT)
    yield from (_indented(line, _DETAIL_INDENT) for line in _call_lines(call, names))


def _indented(line: RenderableType, width: int) -> Padding:
    return Padding(line, (0, 0, 0, width), expand=False)


def _visible_line(step: StepReplay, before: StepReplay | None) -> str:
    if step.visible is None:
        return "visible tools: unknown"
    heading = f"visible tools ({len(step.visible)})"
    if before is not None and before.toolset_digest == step.toolset_digest:
        return f"{heading}: as before"
    shown = [f"{tool_name(seen.server, seen.tool)} @{_short(seen.schema_digest)}" for seen in step.visible[:_MOST_TOOLS]]
    rest = len(step.visible) - len(shown)
    return f"{heading}, version {_short(step.toolset_digest)}: {', '.join(shown)}{f' and {rest} more' if rest else ''}"


def _step_lines(step: StepReplay, before: StepReplay | None, names: Mapping[str, str]) -> Iterator[str | Text]:
    """The lines between a step's heading and its calls."""
    yield _visible_line(step, before)
    if call_is_lost(step):
        yield Text(LOST_CALL, style=_UNKNOWN_STYLE)
    if step.exposure not in {"unknown", "explicit"}:
        yield f"offered: {EXPOSURES.get(step.exposure, step.exposure)}{_bracketed((step.skill, step.fallback_reason))}"
    yield from (f"kept away: {tool_name(gone.server, gone.tool)} ({gone.reason})" for gone in step.removals)
    if step.answer_sources:
        yield f"its text uses results of {', '.join(names.get(call, call) for call in step.answer_sources)}"
    yield from _unknown_line(step.unknown)


def _step_view(step: StepReplay, before: StepReplay | None, names: Mapping[str, str]) -> Iterator[RenderableType]:
    heading = "calls of which the decision is not known" if step.decision is None else f"{names[step.decision]}: {step.finish}"
    yield Text(f"{heading}{_bracketed((step.model, step.started))}", style="bold cyan")
    yield from (_indented(line, _STEP_INDENT) for line in _step_lines(step, before, names))
    for call in step.calls:
        yield from _call_view(call, names)
    yield ""


def _names(run: RunReplay) -> dict[str, str]:
    """Ids of calls and decisions -> how the view calls them."""
    steps = {step.decision: f"decision {step.ordinal}" for step in run.steps if step.decision is not None}
    return steps | {call.call: "call" if call.ordinal is None else f"call {call.ordinal}" for call in run.calls}


def replay_view(run: RunReplay) -> RenderableType:
    """One run, step by step."""
    names = _names(run)
    facts = {
        "source": run.source,
        "agent": run.agent,
        "task": run.task,
        "trial": run.trial,
        "outcome": f"{run.outcome} (by {run.outcome_source})",
        "reward": run.reward,
        "stopped by": run.stopped_by if run.stopped_by != "unknown" else None,
        "started": run.started,
    }
    lines: list[RenderableType] = [
        Text(f"run {run.run}", style="bold"),
        ", ".join(f"{key} {value}" for key, value in facts.items() if value is not None),
        *([f"budget: {', '.join(map(budget_words, run.budget))}"] if run.budget else []),
        *_unknown_line(run.unknown),
        "",
    ]
    for before, step in zip((None, *run.steps), run.steps, strict=False):
        lines.extend(_step_view(step, before, names))
    return Group(*lines)
