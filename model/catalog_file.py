"""Reads the tools of a JSON file: MCP's answer to `tools/list`, OpenAI's and Anthropic's arrays, servers with their tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from toolwitness.model.catalog import ToolDefinition, read_definition
from toolwitness.model.exceptions import BrokenFileError, UnknownFormatError

__all__ = ["Catalog", "CatalogTool", "catalog_of", "identity", "read_catalog", "versioned"]

_SUPPORTED = (
    "an MCP answer to tools/list, an array of OpenAI or Anthropic tools, or an object of servers with their tools "
    '({"shop": [tool, ...]})'
)
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "output_schema", "outputSchema")
_OWN_TYPES = (None, "function", "custom")
_MOST_KEYS = 8
_VERSION = re.compile(r"[\w.+-]+")


@dataclass(frozen=True, slots=True)
class CatalogTool:
    """One tool of a catalog."""

    definition: ToolDefinition
    unread: Any = None
    """What stands around the schemas; classes written there are heard by nobody."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Tools in the order of the file, each identity once; `notes` say what of it could not be taken in."""

    tools: tuple[CatalogTool, ...]
    notes: tuple[str, ...] = field(default=())


class _Found(NamedTuple):
    """A tool object with its server and its place in the file."""

    server: str
    place: str
    given: Mapping[str, Any]


def identity(definition: ToolDefinition) -> str:
    """A tool as selectors name it: `server/tool@version`, without what is not known."""
    return versioned(f"{definition.server}/{definition.name}" if definition.server else definition.name, definition.version)


def versioned(name: str, version: str | None) -> str:
    """A tool's name with its version, as selectors write it; a version that is no single word has no place in a selector."""
    return f"{name}@{version}" if version and _VERSION.fullmatch(version) else name


def read_catalog(path: Path) -> Catalog:
    """The tools of a file.

    Raises OSError where it cannot be opened, BrokenFileError where it is no JSON or a tool in it is broken, and
    UnknownFormatError where it is in none of the known forms; both name the file, the place and what was seen.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(f"{path} cannot be read as JSON: {error}") from error
    try:
        return catalog_of(data)
    except (BrokenFileError, UnknownFormatError) as error:
        raise type(error)(f"{path}: {error}") from error


def catalog_of(data: Any) -> Catalog:
    """The tools of a JSON value; raises as `read_catalog` does, without the file's name."""
    notes: list[str] = []
    tools: dict[str, CatalogTool] = {}
    places: dict[str, str] = {}
    for found in _tools(data, "", "", notes):
        tool = _tool(found, notes)
        if tool is None:
            continue
        name = identity(tool.definition)
        if name in tools:
            raise BrokenFileError(f"tool {name!r} stands twice, at {places[name]} and {found.place}; remove one of them")
        tools[name], places[name] = tool, found.place
    if not tools:
        raise UnknownFormatError(f"there is no tool in it; supported: {_SUPPORTED}")
    return Catalog(tuple(tools.values()), tuple(dict.fromkeys(notes)))


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, refused where a name stands twice: the first of them would vanish without a word."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return made


def _tools(data: Any, server: str, place: str, notes: list[str]) -> Iterator[_Found]:
    """The tool objects of any of the forms, with what server they belong to."""
    if isinstance(data, list):
        yield from _of_list(data, server, place, notes)
    elif not isinstance(data, Mapping):
        raise UnknownFormatError(f"{place or 'the whole file'} is {_kind(data)}; supported: {_SUPPORTED}")
    elif "jsonrpc" in data or "tools" in data:
        yield from _of_answer(data, server, place, notes)
    elif _is_tool(data):
        yield _Found(server, place or "the whole file", data)
    else:
        yield from _of_servers(data, server, place, notes)


def _of_answer(data: Mapping[str, Any], server: str, place: str, notes: list[str]) -> Iterator[_Found]:
    """The answer to `tools/list`, in its JSON-RPC envelope or without."""
    if "tools" in data:
        if data.get("nextCursor"):
            page = place or "the file"
            notes.append(f"{page} is one page of an answer to tools/list (it has a nextCursor): other pages are not read")
        yield from _tools(data["tools"], server, _below(place, "tools"), notes)
    elif "result" in data:
        yield from _tools(data["result"], server, _below(place, "result"), notes)
    else:
        raise BrokenFileError(f"it is a JSON-RPC message without a result (keys: {_keys(data)}); save a successful answer")


def _of_servers(data: Mapping[str, Any], server: str, place: str, notes: list[str]) -> Iterator[_Found]:
    if "mcpServers" in data:
        raise UnknownFormatError("it is an MCP client's configuration and names servers, not tools; save their tools/list")
    if server or not all(isinstance(value, list | Mapping) for value in data.values()):
        raise UnknownFormatError(f"{place or 'the whole file'} has the keys {_keys(data)}; supported: {_SUPPORTED}")
    for name, value in data.items():
        yield from _tools(value, name, _below(place, name), notes)


def _of_list(data: Iterable[Any], server: str, place: str, notes: list[str]) -> Iterator[_Found]:
    for number, item in enumerate(data):
        at = f"{place}[{number}]"
        if not isinstance(item, Mapping):
            raise BrokenFileError(f"{at} is {_kind(item)}; a tool is an object with a name and a schema")
        if "tools" in item and not _is_tool(item):
            listed, named = item["tools"], item.get("name")
            inner = named if isinstance(listed, list) and isinstance(named, str) else server
            yield from _tools(listed, inner, _below(at, "tools"), notes)
        else:
            yield _Found(server, at, item)


def _is_tool(data: Mapping[str, Any]) -> bool:
    inner = _inner(data)
    return isinstance(inner.get("name"), str) and (inner is not data or "type" in data or any(key in data for key in _SCHEMAS))


def _inner(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with the name: OpenAI's chat form wraps it."""
    return next((data[key] for key in ("function", "custom") if isinstance(data.get(key), Mapping)), data)


def _tool(found: _Found, notes: list[str]) -> CatalogTool | None:
    """The tool, or None for one that the provider runs itself and whose fields nobody here declares."""
    inner = _inner(found.given)
    schemas = {key: inner[key] for key in _SCHEMAS if inner.get(key) is not None}
    if found.given.get("type") not in _OWN_TYPES and not schemas:
        notes.append(f"{found.place} is a tool of the provider's own ({found.given['type']!r}) without a schema: left out")
        return None
    for key, schema in schemas.items():
        if not isinstance(schema, Mapping):
            raise BrokenFileError(f"{_below(found.place, key)} is {_kind(schema)}; a schema is an object")
    try:
        definition = read_definition(inner, server=found.server)
    except ValueError as error:
        raise BrokenFileError(f"{found.place}: {error}") from error
    version = inner.get("version")
    around = {key: value for key, value in inner.items() if key not in _SCHEMAS}
    outside = {key: value for key, value in found.given.items() if value is not inner} if inner is not found.given else {}
    return CatalogTool(
        replace(definition, version=version) if isinstance(version, str) else definition, unread={**outside, **around}
    )


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _keys(data: Mapping[str, Any]) -> str:
    shown = [repr(key) for key in list(data)[:_MOST_KEYS]]
    return ", ".join(shown + ["..."] * (len(data) > _MOST_KEYS)) or "none"
