"""What OpenTelemetry's conventions tell about a span of anybody's: which of its texts are names and codes, and which data.

An attribute is kept as it is only where a convention gives its name a narrow domain and the value lies in it: a method is
one of ten words, a count is a number below a billion, a model's name is one plain word. A value outside of that domain is
treated as any other data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from toolwitness.redaction.detect import scan_text
from toolwitness.redaction.template import GAP, plain_word
from toolwitness.redaction.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["event_name", "keeps", "keeps_of_resource", "one_word", "scope_name", "scope_version", "span_name", "type_name"]

_METHODS: Final = words_of("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY HTTP _OTHER")
_LARGEST_COUNT: Final = 1_000_000_000
"""Numbers from here on may be card or phone numbers, and are no counts."""

_ONE_WORD: Final = re.compile(r"[^\W_][\w.:/\-]{0,63}|_OTHER")
_TYPE: Final = re.compile(r"[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63}){0,8}", re.ASCII)
_STATUS: Final = re.compile(r"[1-5][0-9]{2}")
_HOST: Final = re.compile(r"localhost|(?:[a-z][a-z0-9-]{0,62}\.){1,8}[a-z]{2,24}")
_SCOPE: Final = re.compile(r"@?[A-Za-z_]{1,48}[0-9]{0,2}(?:[./@-][A-Za-z_]{1,48}[0-9]{0,2}){0,12}")
_VERSION: Final = re.compile(r"v?[0-9]{1,4}(?:\.[0-9]{1,6}){0,3}(?:[-.+]?(?:a|b|c|rc|dev|post|alpha|beta)\.?[0-9]{0,6}){0,2}")
_ROUTE_STEP: Final = re.compile(r"[A-Za-z_-]{1,32}|v[0-9]{1,2}|[{<:][A-Za-z_:]{1,40}[}>]?|\*")
_MEDIA: Final = re.compile(r"[a-z]{1,16}/[a-z][a-z.+-]{0,40}")


def one_word(text: str) -> bool:
    """Tell whether a text is one plain word of at most 64 characters to which no value detector objects."""
    return _ONE_WORD.fullmatch(text) is not None and not scan_text(text)


def type_name(text: Any) -> str:
    """Return the name of an exception's type, or `Exception` for what cannot be one."""
    return text if type(text) is str and _is_type(text) else "Exception"


def _is_type(text: str) -> bool:
    return _TYPE.fullmatch(text) is not None and not scan_text(text)


def _is_error(text: str) -> bool:
    return _is_type(text) or _STATUS.fullmatch(text) is not None


def _is_host(text: str) -> bool:
    return len(text) <= _LONGEST_HOST and _HOST.fullmatch(text) is not None and not scan_text(text)


def _is_route(text: str) -> bool:
    steps = text.strip("/").split("/")
    return text.startswith("/") and len(steps) <= _MOST_STEPS and all(not step or _ROUTE_STEP.fullmatch(step) for step in steps)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


_LONGEST_HOST: Final = 253
_MOST_STEPS: Final = 16

_TEXTS: Final[dict[str, Callable[[str], bool]]] = {
    **dict.fromkeys(("http.request.method", "http.method"), _METHODS.__contains__),
    **dict.fromkeys(("http.route", "url.template"), _is_route),
    **dict.fromkeys(("server.address", "net.peer.name"), _is_host),
    **dict.fromkeys(("input.mime_type", "output.mime_type"), _matches(_MEDIA)),
    "network.protocol.version": _matches(_VERSION),
    "error.type": _is_error,
    "exception.type": _is_type,
    **dict.fromkeys(
        words_of("""
        gen_ai.operation.name gen_ai.system gen_ai.provider.name gen_ai.request.model gen_ai.response.model gen_ai.output.type
        gen_ai.tool.name gen_ai.tool.type gen_ai.agent.name gen_ai.token.type gen_ai.response.finish_reasons
        gen_ai.task.kind gen_ai.task.status llm.model_name llm.provider llm.system llm.finish_reason llm.request.type
        openinference.span.kind traceloop.span.kind tool.name mcp.method.name mcp.protocol.version
        network.transport network.type network.protocol.name url.scheme http.scheme http.flavor
        rpc.system rpc.method rpc.service db.system db.system.name db.operation db.operation.name
        messaging.system messaging.operation messaging.operation.name messaging.operation.type
        code.function code.function.name code.namespace otel.status_code telemetry.sdk.name telemetry.sdk.language
        """),
        one_word,
    ),
    "telemetry.sdk.version": _matches(_VERSION),
}
"""Attributes that hold names and codes, each with the domain in which a value is one."""

_RESOURCE: Final[dict[str, Callable[[str], bool]]] = {
    "service.name": one_word,
    "service.namespace": one_word,
    "service.version": one_word,
    "service.instance.id": one_word,
    "deployment.environment.name": one_word,
    "deployment.environment": one_word,
    "telemetry.sdk.name": one_word,
    "telemetry.sdk.language": one_word,
    "telemetry.sdk.version": _matches(_VERSION),
}
"""What stays of a resource; command lines, hosts, users and everything else go."""

_NUMBERS: Final = words_of(
    """
    http.response.status_code http.status_code http.request.resend_count http.request.body.size http.response.body.size
    server.port net.peer.port network.peer.port rpc.grpc.status_code rpc.jsonrpc.error_code db.response.returned_rows
    gen_ai.client.operation.time_to_first_chunk gen_ai.response.time_to_first_chunk code.line.number code.lineno thread.id
    """
)
_NUMBERS_BELOW: Final = ("gen_ai.usage.", "gen_ai.aggregated_usage.", "gen_ai.request.", "llm.token_count.", "llm.usage.")
_FLAGS: Final = frozenset(("exception.escaped", "gen_ai.request.stream", "gen_ai.is_streaming", "error"))


def keeps(name: str, value: Any) -> bool:
    """Tell whether an attribute may stay as it is: a convention knows its name, and the value lies in its domain."""
    kind = type(value)
    if kind is bool:
        return name in _FLAGS
    if kind is int or kind is float:
        return abs(value) < _LARGEST_COUNT and (name in _NUMBERS or name.startswith(_NUMBERS_BELOW))
    allows = _TEXTS.get(name)
    if allows is None:
        return False
    if kind is str:
        return allows(value)
    return (kind is tuple or kind is list) and len(value) <= _MOST_STEPS and all(type(x) is str and allows(x) for x in value)


def keeps_of_resource(name: str, value: Any) -> bool:
    """Tell whether an attribute of a resource stays."""
    allows = _RESOURCE.get(name)
    return allows is not None and type(value) is str and allows(value)


def scope_name(text: Any) -> str:
    """Return the name of an instrumentation scope, which is a module's or package's, or `{}` for what cannot be one."""
    return text if type(text) is str and _SCOPE.fullmatch(text) and not scan_text(text) else GAP


def scope_version(text: Any) -> str | None:
    """Return a version such as `1.3.0rc2`, or None for what cannot be one."""
    return text if type(text) is str and _VERSION.fullmatch(text) else None


_OPERATIONS: Final = words_of(
    """
    execute_tool invoke_agent create_agent invoke_workflow execute_task chat generate_content text_completion embeddings
    retrieval tools/call gate attempt attempt_start reconcile schema toolset
    """
)
"""First words of span names that are followed by one name: of a tool, an agent or a model."""

_SPAN_WORDS: Final = words_of(
    """
    agent assistant chain chat completion completions crew embedding embeddings evaluator first generation graph guardrail
    handoff kickoff llm mcp prompt reranker retrieval retriever span step synthesize turn workflow
    """
)
_CODE_WORD: Final = re.compile(r"[A-Za-z_]{1,48}(?:[./:]{1,2}[A-Za-z_]{1,48}){0,8}")
_IN_CODE: Final = re.compile(r"[./:_]|[a-z][A-Z]|[A-Z][A-Z][a-z]")
_MOST_WORDS: Final = 6
_LONGEST_NAME: Final = 256


def span_name(name: Any, route: Any = None) -> str:
    """Return what of a span's name is surely the program's own, with `{}` for the rest.

    Kept are `execute_tool X` and its kin where X is one plain word, an HTTP method with the span's own `http.route`, a single
    identifier without digits (`ChatOpenAI.chat`), and of longer names the identifiers and common words among their first six.
    What can still pass is a value that looks like an identifier, such as a lower-case first name as the whole name.
    """
    if type(name) is not str or not name or len(name) > _LONGEST_NAME:
        return GAP
    head, _, subject = name.partition(" ")
    if head in _METHODS:
        return name if not subject or (subject == route and _is_route(subject)) else f"{head} {_path(subject)}"
    if head in _OPERATIONS and subject:
        return name if one_word(subject) else f"{head} {GAP}"
    return GAP if scan_text(name) else _words(name)


def _path(subject: str) -> str:
    """Return a path with its steps that are common words; what came after the method is a path or nothing at all."""
    if not subject.startswith("/"):
        return GAP
    steps = (step if not step or plain_word(step) else GAP for step in subject.split("/")[: _MOST_STEPS + 1])
    return "/".join(steps)


def _words(name: str) -> str:
    words = name.split()
    kept: list[str] = []
    for word in words[:_MOST_WORDS]:
        known = word.lower() in _SPAN_WORDS or plain_word(word.lower())
        code = _CODE_WORD.fullmatch(word) is not None and (len(words) == 1 or _IN_CODE.search(word) is not None)
        shown = word if known or code else GAP
        if not (shown == GAP and kept and kept[-1] == GAP):
            kept.append(shown)
    return " ".join(kept) or GAP


_EVENTS: Final = words_of(
    """
    exception message error retry log gen_ai.choice gen_ai.system.message gen_ai.user.message gen_ai.assistant.message
    gen_ai.tool.message gen_ai.content.prompt gen_ai.content.completion gen_ai.content.completion.chunk gen_ai.evaluation.result
    gen_ai.client.inference.operation.details feature_flag.evaluation session.start session.end
    """
)


def event_name(name: Any) -> str:
    """Return the name of an event where a convention knows it, else `{}`: applications put texts there too."""
    return name if type(name) is str and name in _EVENTS else GAP
