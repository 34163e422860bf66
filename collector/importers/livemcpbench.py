"""LiveMCPBench's annotated trajectories: one JSON array of `{task_id, Question, messages, task_success, ...}`.

The model sees two tools. `route` searches the catalogue: it is a call of server `livemcp` and a discovery record.
`execute-tool` dispatches: a call of it becomes a call of the inner (server, tool) that its arguments name, with
`via = execute-tool` and the inner parameters as arguments.

What a decision could see is `route` and the tools that searches of the run had hit before it. `execute-tool` itself is no
member: every use of it is counted as a use of an inner tool, so as a member it would stand as visible everywhere and
chosen nowhere. Where `execute-tool`'s arguments name no inner tool, the call stays one of `execute-tool`.

Results are the Python repr of MCP's `CallToolResult`, cut at 10,000 characters. The inner server's answer stands in it as
JSON text with an `isError` of its own, which the outer one can hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolwitness.collector.importers.catalogue import Catalogue, find_in
from toolwitness.collector.importers.chat import ChatReader, RawCall
from toolwitness.collector.importers.python_repr import read_call_result
from toolwitness.collector.importers.trajectory import (
    Observation,
    ProposedCall,
    RecordError,
    Search,
    Step,
    Trajectory,
)
from toolwitness.model.catalog import ToolDefinition, read_definition
from toolwitness.model.digest import digest
from toolwitness.model.enums import (
    AttemptStatus,
    ErrorClass,
    Exposure,
    Known,
    ObservationStatus,
    OutcomeSource,
    RunOutcome,
)
from toolwitness.model.json_text import json_or

NAME = "livemcpbench"
SERVER = "livemcp"
"""The benchmark's own server, which offers the two tools that the model sees."""
ROUTE = ToolDefinition(name="route", server=SERVER)
"""The search; its definition is in none of the benchmark's files."""
DISPATCHER = "execute-tool"

_CUT_AT = 10_000
_TIMED_OUT = "Tool call timed out."
_HITS_PER_SEARCH = 3  # the benchmark's setting: a cut listing that shows as many has lost no name
_HIT = re.compile(r"^- server_name: (.+)\n +tool_name: (.+)\n", re.MULTILINE)
_SEARCH_FAILED = re.compile(r"success: false\b")
_VERDICTS = {"success": RunOutcome.SUCCESS, "failure": RunOutcome.FAILURE}
_ATTEMPT = {
    ObservationStatus.ERROR: AttemptStatus.ERROR,
    ObservationStatus.TIMEOUT: AttemptStatus.TIMEOUT,
}


def is_records(data: Any) -> bool:
    """Whether a file's JSON value is a trajectory file of this format, labelled or not."""
    wanted = {"task_id", "Question", "messages"}
    return isinstance(data, list) and any(isinstance(item, Mapping) and wanted <= item.keys() for item in data)


def _servers(data: Any) -> Iterator[tuple[str, list[Any]]]:
    """Each server's name and tools. Searches and calls name a server by its key in `tools`, not by the entry's name."""
    for entry in data:
        tools = entry.get("tools") if isinstance(entry, Mapping) else None
        for server, listed in tools.items() if isinstance(tools, Mapping) else ():
            if isinstance(listed, Mapping) and isinstance(listed.get("tools"), list):
                yield server, listed["tools"]


def is_catalogue(data: Any) -> bool:
    """Whether a file's JSON value is the benchmark's list of servers with their tools."""
    return isinstance(data, list) and next(_servers(data), None) is not None


def read_catalogue(data: Any) -> Catalogue:
    """The tools of a file for which `is_catalogue` holds; a tool object without a name is left out."""
    definitions = tuple(
        read_definition(tool, server=server)
        for server, tools in _servers(data)
        for tool in tools
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)
    )
    return Catalogue(definitions, (*definitions, ROUTE))


def read_record(record: Any, catalogue: Catalogue | None = None) -> Trajectory:
    """One run; raises RecordError with the reason where the record has not the format's shape."""
    if not isinstance(record, Mapping):
        raise RecordError("record_is_no_object")
    reader = _LiveReader(catalogue)
    events = reader.read(record.get("messages"))
    category = record.get("category")
    outcome = _VERDICTS.get(str(record.get("task_success")), RunOutcome.UNKNOWN)
    return Trajectory(
        format=NAME,
        task=str(record.get("task_id", "unknown")),
        trial=0,
        content_digest=digest(record),
        events=events,
        category=category if isinstance(category, str) else None,
        outcome=outcome,
        outcome_source=OutcomeSource.UNKNOWN if outcome is RunOutcome.UNKNOWN else OutcomeSource.PERSON,
        orphan_results=reader.orphan_results,
    )


class _Answer(NamedTuple):
    """A result's content as the model read it, its outer status and its effective one."""

    value: Any
    outer: ObservationStatus
    effective: ObservationStatus


def _inner_answer(text: str) -> tuple[list[str], bool] | None:
    """Texts and `isError` of an inner `CallToolResult` in JSON, or None where the text is none."""
    inner = json_or(text, None)
    if not isinstance(inner, dict) or not isinstance(inner.get("isError"), bool) or not isinstance(inner.get("content"), list):
        return None
    parts = [part for part in inner["content"] if isinstance(part, Mapping)]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)], inner["isError"]


def _value(texts: list[str]) -> Any:
    """One text as it is, several as a list, no text as nothing."""
    return texts[0] if len(texts) == 1 else (texts or "")


def _plain_answer(text: str) -> _Answer:
    """An answer that is no `CallToolResult`: the harness's own words."""
    if text.strip() == _TIMED_OUT:
        status = ObservationStatus.TIMEOUT
    elif len(text) >= _CUT_AT:
        status = ObservationStatus.CUT_BY_RECORDING
    else:
        status = ObservationStatus.ERROR if text.startswith("Error") else ObservationStatus.OK
    return _Answer(text, status, status)


def read_answer(text: str) -> _Answer:
    """What a result's text says, by the outer and by the inner layer."""
    result = read_call_result(text)
    if result is None:
        return _plain_answer(text)
    if not result.complete:
        return _Answer(_value(list(result.texts)), ObservationStatus.CUT_BY_RECORDING, ObservationStatus.CUT_BY_RECORDING)
    if result.is_error:
        return _Answer(_value(list(result.texts)), ObservationStatus.ERROR, ObservationStatus.ERROR)
    inner = _inner_answer(result.texts[0]) if len(result.texts) == 1 else None
    texts, failed = inner or (list(result.texts), False)
    if failed:
        return _Answer(_value(texts), ObservationStatus.OK, ObservationStatus.ERROR)
    effective = ObservationStatus.OK if any(text.strip() for text in texts) else ObservationStatus.EMPTY
    return _Answer(_value(texts), ObservationStatus.OK, effective)


def _unquoted(name: str) -> str:
    """A YAML scalar's text."""
    for quote in ("'", '"'):
        if len(name) > 1 and name.startswith(quote) and name.endswith(quote):
            return name[1:-1].replace("''", "'") if quote == "'" else name[1:-1]
    return name


def _search(call: ProposedCall, answer: _Answer) -> Search:
    text = answer.value if isinstance(answer.value, str) else "\n".join(answer.value)
    hits = tuple((_unquoted(server), _unquoted(tool)) for server, tool in _HIT.findall(text))
    query = call.arguments.get("query") if isinstance(call.arguments, Mapping) else None
    cut = answer.effective is ObservationStatus.CUT_BY_RECORDING
    return Search(hits=hits, query=query if isinstance(query, str) else None, complete=not cut or len(hits) >= _HITS_PER_SEARCH)


class _LiveReader(ChatReader):
    """Follows the searches of a run to know what each decision could see."""

    def __init__(self, catalogue: Catalogue | None) -> None:
        super().__init__()
        self._catalogue = catalogue
        self._visible: dict[tuple[str, str], ToolDefinition] = {(SERVER, ROUTE.name): ROUTE}
        self._tools: tuple[ToolDefinition, ...] = (ROUTE,)
        self._all_seen = True

    def propose(self, raw: RawCall) -> ProposedCall:
        arguments = raw.arguments if raw.name == DISPATCHER and isinstance(raw.arguments, Mapping) else {}
        server, tool = arguments.get("server_name"), arguments.get("tool_name")
        if not isinstance(server, str) or not isinstance(tool, str):
            return self._outer_call(raw)
        definition, registered = find_in(self._catalogue, server, tool)
        not_seen = Known.NO if self._all_seen else Known.UNKNOWN
        return ProposedCall(
            server=server,
            tool=tool,
            via=DISPATCHER,
            arguments=arguments.get("params", {}),
            provider_call_id=raw.provider_call_id,
            visible=Known.YES if (server, tool) in self._visible else not_seen,
            registered=registered,
            definition=definition,
        )

    def _outer_call(self, raw: RawCall) -> ProposedCall:
        ours = Known.YES if raw.name in {ROUTE.name, DISPATCHER} else Known.NO
        return ProposedCall(
            server=SERVER,
            tool=raw.name,
            arguments=raw.arguments,
            parsed=raw.parsed,
            provider_call_id=raw.provider_call_id,
            visible=ours,
            registered=ours,
            definition=ROUTE if raw.name == ROUTE.name else None,
        )

    def step(self, text: str, calls: tuple[ProposedCall, ...]) -> Step:
        return Step(
            text=text,
            calls=calls,
            tools=self._tools if self._all_seen else None,
            candidates=self._catalogue.candidates if self._catalogue else None,
            exposure=Exposure.TOOL_SEARCH,
        )

    def observe(self, position: int, call: ProposedCall, text: str) -> Observation:
        answer = read_answer(text)
        search = None
        if (call.server, call.tool, call.via) == (SERVER, ROUTE.name, None):
            search = _search(call, answer)
            self._show(search)
            if _SEARCH_FAILED.match(str(answer.value)):
                answer = answer._replace(effective=ObservationStatus.ERROR)
        return Observation(
            call=position,
            value=answer.value,
            status=answer.effective,
            transport_status=answer.outer,
            attempt=_ATTEMPT.get(answer.outer, AttemptStatus.OK),
            sent=Known.UNKNOWN if answer.outer is ObservationStatus.TIMEOUT else Known.YES,
            error_class=ErrorClass.UNCLASSIFIED if answer.effective is ObservationStatus.ERROR else None,
            search=search,
        )

    def _show(self, search: Search) -> None:
        """Take the hits into what the next decisions can see."""
        for server, tool in search.hits:
            definition, _ = find_in(self._catalogue, server, tool)
            self._visible.setdefault((server, tool), definition or ToolDefinition(name=tool, server=server))
        self._tools = tuple(self._visible.values())
        self._all_seen = self._all_seen and search.complete
