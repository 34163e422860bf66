"""One replayed call as HTML: arguments, gates, attempts, observation and what became of its result."""

from __future__ import annotations

from collections.abc import Sequence

from toolwitness.dashboard.links import SUBMISSIONS, address, link
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.payload import pretty, written
from toolwitness.dashboard.wording import absent, call_name, lasted, pill, plain, plural, short, tone, unknown, when
from toolwitness.replay import doubts
from toolwitness.replay.facts import approval_words, batch_words, beside_words, called_off_words, conflict_words
from toolwitness.replay.honest import FLAGS, misfits, no_use
from toolwitness.replay.steps import (
    AttemptReplay,
    CallReplay,
    GateReplay,
    ReconciliationReplay,
    VersionCheck,
    answer_is_unknown,
)

_MOST_HITS = 20


def shown_name(server: str, tool: str) -> Markup:
    """A tool by its identity: the server stands back."""
    return join([tag("span", server, " / ", class_="soft") if server else None, tag("span", tool)])


def fact(key: str, *value: Child) -> Markup:
    """One line of facts: what it is about, and what is known."""
    return tag("div", tag("div", key, class_="k"), tag("div", *value, class_="v"), class_="row")


def _details(parts: Sequence[str | None]) -> Markup | None:
    """Further facts in soft text, those that are there."""
    given = [part for part in parts if part]
    return tag("span", " ", ", ".join(given), class_="soft") if given else None


def _gate(gate: GateReplay, proposed: str | None) -> Markup:
    rule = gate.rule_id and f"rule {gate.rule_id}" + (f" v{gate.rule_version}" if gate.rule_version else "")
    facts = _details(
        [
            "only observed, stopped nothing" if gate.mode == "observed" else None,
            gate.reason_code and plain(gate.reason_code),
            rule,
            gate.contract and f"{gate.contract} contract",
            f"at {', '.join(gate.pointers)}" if gate.pointers else None,
            f"keyword {', '.join(gate.keywords)}" if gate.keywords else None,
            gate.approver and f"approver {gate.approver}",
            *approval_words(gate, proposed),
        ]
    )
    return tag("li", pill(gate.verdict), " ", plain(gate.kind), facts)


_SENT = {"yes": "sent", "no": "never sent", "unknown": "not known whether it was sent"}


def _attempt(attempt: AttemptReplay) -> Markup:
    facts = _details(
        [
            None if attempt.duration_ms is None else lasted(attempt.duration_ms),
            _SENT.get(attempt.sent, attempt.sent),
            "proof of no effect" if attempt.effect_ruled_out else None,
            attempt.transport,
            attempt.error_class and plain(attempt.error_class),
            attempt.error_type,
            attempt.vendor_code,
            None if attempt.remote_status is None else f"remote status {attempt.remote_status}",
            attempt.remote_reference and f"reference {attempt.remote_reference}",
            attempt.retry_reason and f"retried because {plain(attempt.retry_reason)}",
            None if attempt.backoff_ms is None else f"after waiting {lasted(attempt.backoff_ms)}",
        ]
    )
    return tag("li", pill(attempt.status), f" attempt {attempt.ordinal}", facts, _raised(attempt))


def _raised(attempt: AttemptReplay) -> Markup | None:
    """What the attempt's exception came from and where it was raised, to be opened; its text is not recorded."""
    if not attempt.error_causes and not attempt.error_frames:
        return None
    told = [tag("li", tag("span", "caused by ", class_="soft"), cause) for cause in attempt.error_causes]
    told += [tag("li", tag("code", frame)) for frame in attempt.error_frames]
    return tag("details", tag("summary", "where it was raised"), tag("ul", *told, class_="plain"))


def _finding(found: ReconciliationReplay) -> Markup:
    facts = _details(
        [
            f"by {plain(found.method)}",
            found.found_by,
            found.reason_code and plain(found.reason_code),
            found.remote_reference and f"reference {found.remote_reference}",
        ]
    )
    why = None if found.reason is None else tag("div", written(found.reason))
    return tag("li", pill(found.finding), " ", when(found.found), facts, why)


def _listed(key: str, items: Sequence[Markup], none: str | None = None) -> Markup | None:
    if not items:
        return fact(key, tag("span", none, class_="soft")) if none else None
    return fact(key, tag("ul", *items, class_="plain"))


def _observation(call: CallReplay) -> Markup:
    if answer_is_unknown(call):
        return fact("Observation", unknown("not known"))
    if call.observation == "none":
        return fact("Observation", tag("span", "nothing came back", class_="soft"))
    outer = call.transport_status not in {"none", call.observation}
    facts = _details(
        [
            f"transport said {plain(call.transport_status)}" if outer else None,
            None if call.result_size is None else plural(call.result_size, "byte"),
            call.error_class and plain(call.error_class),
            call.error_type,
            call.vendor_code,
            batch_words(call),
            f"commit level {call.commit_level}" if call.commit_level not in {None, "unknown"} else None,
        ]
    )
    return fact("Observation", pill(call.observation), facts)


def later_use(call: CallReplay, names: dict[str, str]) -> Markup:
    """Where values that were new in the result reappeared later, or why no such place is known."""
    places = [names.get(place, place) for place in (*call.used_in_arguments, *call.used_in_answers)]
    if places:
        return join([", ".join(places), tag("span", " (new values reappear there)", class_="soft")])
    measurable = doubts.LATER_USE not in call.unknown
    why = no_use(call.observation, call.outcome, measurable=measurable, novel_values=call.novel_values)
    return absent(why)


def _schema(call: CallReplay) -> Markup:
    version = tag("span", f" v{call.tool_version}", class_="soft") if call.tool_version else None
    parts: list[Child] = [tag("span", "proposed under ", class_="soft"), short(call.schema_digest), version]
    if call.validated_schema_digest:
        parts += [tag("span", ", validated against ", class_="soft"), short(call.validated_schema_digest)]
    return fact("Schema", *parts)


def _version(check: VersionCheck, own: str | None) -> Markup:
    """What a version of the schema says of the arguments."""
    whose = " the version it was proposed under" if check.schema_digest == own else " another version"
    places = join((tag("li", place) for place in misfits(check)), "")
    listed = tag("ul", places, class_="plain") if check.failures else None
    return tag("li", pill(check.verdict), tag("span", whose, " ", class_="soft"), short(check.schema_digest), listed)


def _validity(call: CallReplay) -> Markup:
    """What each known version says of the raw arguments as proposed."""
    if not call.argument_checks:
        return fact("Arguments fit", unknown())
    versions = (_version(check, call.schema_digest) for check in call.argument_checks)
    return fact("Arguments fit", tag("ul", *versions, class_="plain"))


def _effects(call: CallReplay) -> Markup:
    effect = unknown("side effect unknown") if call.side_effect == "unknown" else plain(call.side_effect)
    known = {"yes": ", idempotent", "no": ", not idempotent"}
    return fact("Effect", effect, tag("span", known.get(call.idempotent, ""), class_="soft"))


def _discovery(call: CallReplay) -> Markup | None:
    if not call.discovery_hits:
        return None
    shown = call.discovery_hits[:_MOST_HITS]
    items = [tag("li", shown_name(hit.server, hit.tool)) for hit in shown]
    more = f" (first {len(shown)} shown)" if len(shown) < len(call.discovery_hits) else ""
    summary = tag("summary", plural(len(call.discovery_hits), "tool"), more)
    return fact("Search found", tag("details", summary, tag("ul", *items, class_="tools")))


def _title(call: CallReplay, names: dict[str, str]) -> Markup:
    notes = _details(
        [
            f"via {call.via}" if call.via else None,
            "not in any catalog" if call.registered == "no" else None,
            "was not visible" if call.visible == "no" else None,
            f"same as {names.get(call.repeat_of, call.repeat_of)}" if call.repeat_of else None,
            # What waits for approval has not ended: there is nothing that could have lasted.
            None if call.duration_ms is None or call.outcome == "pending" else lasted(call.duration_ms),
        ]
    )
    return tag(
        "h4",
        tag("span", call_name(call.ordinal).capitalize(), class_="soft"),
        shown_name(call.server, call.tool),
        pill(call.outcome),
        notes,
    )


def _warning(call: CallReplay) -> Markup | None:
    if not call.ran_although_denied_by:
        return None
    gate = plain(call.ran_although_denied_by)
    return tag("p", tag("strong", "Warning: "), f"ran although denied by {gate}", class_="warning", role="alert")


def _flags(call: CallReplay, names: dict[str, str]) -> list[Markup]:
    told = (*(FLAGS.get(flag, plain(flag)) for flag in call.flags), *conflict_words(call, names))
    return [tag("p", tag("strong", "Flag: "), one, class_="warning", role="alert") for one in told]


def _arguments(call: CallReplay) -> list[Markup]:
    """The arguments, twice where the tool was run with others than the model proposed."""
    if call.executed_arguments is None:
        return [fact("Arguments", pretty(call.arguments, call.provenance))]
    differs = tag("span", "differs from the proposal", class_="differs")
    return [
        fact("Arguments as proposed", pretty(call.arguments, call.provenance)),
        fact("Arguments as executed", differs, pretty(call.executed_arguments)),
    ]


_SIMPLY_DONE = frozenset({"succeeded", "empty"})


def _account(call: CallReplay) -> Markup | None:
    """The way to what a person needs to act on a call that may have changed something and did not simply succeed."""
    if call.side_effect == "read" or (call.outcome in _SIMPLY_DONE and not call.reconciliations):
        return None
    label = "did it take effect, may it be sent again, who must act"
    return fact("Submission", link(label, address(SUBMISSIONS, call=call.call)))


def call_card(call: CallReplay, names: dict[str, str], *, is_account: bool = False) -> Markup:
    """One call in the order of its life; `names` says how other calls and steps are called on the page.

    `is_account`: the page is the call's own among the submissions.
    """
    sources = [names.get(source, source) for source in call.argument_sources]
    beside, called_off = beside_words(call, names), called_off_words(call)
    stopped = f"none: stopped by {plain(call.rejected_by)}" if call.rejected_by else "no attempt was recorded"
    result = tag("details", tag("summary", "recorded result"), pretty(call.result)) if call.result is not None else None
    rows = [
        _warning(call),
        *_flags(call, names),
        *_arguments(call),
        fact("Values from", ", ".join(sources)) if sources else None,
        _schema(call),
        _validity(call),
        _effects(call),
        fact("Beside others", "; ".join(beside)) if beside else None,
        _listed("Gates", [_gate(gate, call.arguments_digest) for gate in call.gates], "none recorded"),
        _listed("Attempts", [_attempt(attempt) for attempt in call.attempts], stopped),
        fact("Called off", called_off) if called_off else None,
        _observation(call),
        fact("Result", result) if result else None,
        _discovery(call),
        _listed("Found out later", [_finding(found) for found in call.reconciliations]),
        fact("Used later", later_use(call, names)),
        fact("Not known", unknown("; ".join(plain(item) for item in call.unknown))) if call.unknown else None,
        None if is_account else _account(call),
    ]
    drawn = tone("ran_although_denied" if call.ran_although_denied_by else call.outcome)
    return tag("section", _title(call, names), *rows, class_=f"call {drawn}", aria_label=f"call of {call.tool}")
