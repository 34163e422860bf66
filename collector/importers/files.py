"""Reading JSON files, plain or gzipped, with errors that name what was seen."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from toolwitness.model.exceptions import BrokenFileError, UnknownFormatError

_GZIP_MAGIC = b"\x1f\x8b"
_SHOWN = 40
_SHOWN_KEYS = 6


def _unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise BrokenFileError(f"{path}: the gzip data ends early or is damaged ({error}); copy or download it again") from error


def load_json(path: Path) -> Any:
    """The JSON value in `path`, which may be gzipped whatever its name is.

    Raises UnknownFormatError where the content is no JSON at all, BrokenFileError where gzip or JSON data break off or are
    damaged, and OSError where the file cannot be read.
    """
    content = _unpacked(path)
    head = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    try:
        return json.loads(content.decode("utf-8-sig"))
    except RecursionError as error:
        raise BrokenFileError(f"{path}: the JSON is nested too deeply to be read") from error
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            raise UnknownFormatError(f"{path}: several JSON values one after another, as in JSON lines") from error
        if head in {b"[", b"{"}:
            raise BrokenFileError(f"{path}: the JSON breaks off or is damaged ({error}); copy or download it again") from error
        raise UnknownFormatError(f"{path}: {_no_json(content)}") from error


def _no_json(content: bytes) -> str:
    """What a file's content looks like that is no JSON; bytes that are no text are not shown."""
    if not content:
        return "an empty file"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is None or not text[:_SHOWN].replace("\t", "").replace("\n", "").replace("\r", "").isprintable():
        return f"not JSON but {len(content)} bytes of binary data"
    return f"not JSON: starts with {text[:_SHOWN]!r}"


def _keys(value: dict[str, Any]) -> str:
    names = list(value)
    more = ", ..." if len(names) > _SHOWN_KEYS else ""
    return "the keys " + ", ".join(repr(name[:_SHOWN]) for name in names[:_SHOWN_KEYS]) + more if names else "no keys"


def describe(data: Any) -> str:
    """What a JSON value looks like from outside: its type, and the keys of the first object in it."""
    if isinstance(data, dict):
        return f"a JSON object with {_keys(data)}"
    if not isinstance(data, list):
        return f"a single JSON value of type {type(data).__name__}"
    if not data:
        return "an empty JSON array"
    first = data[0]
    inner = f"an object with {_keys(first)}" if isinstance(first, dict) else f"of type {type(first).__name__}"
    return f"a JSON array of {len(data)}, the first item {inner}"
