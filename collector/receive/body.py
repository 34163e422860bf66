"""Bodies within limits: read piece by piece, and decompressed no further than allowed."""

from __future__ import annotations

import zlib
from typing import Self

from starlette.requests import ClientDisconnect, Request

from toolwitness.collector.receive.refusal import Refusal, RefusedError

MIB = 1024 * 1024
_WINDOW_BITS = {"gzip": 31, "deflate": 15}
"""How zlib is told the format; the standard exporters send either of the two."""


class Intake:
    """Bounds the bytes of all bodies that are being read or decoded at once; used on the event loop's thread alone."""

    def __init__(self, limit: int = 256 * MIB) -> None:
        self._left = limit

    def take(self, size: int) -> None:
        """Book so many bytes. Raises RefusedError (503) where they are too many."""
        if size > self._left:
            raise RefusedError(Refusal.QUEUE_FULL)
        self._left -= size

    def give_back(self, size: int) -> None:
        """Free what was booked."""
        self._left += size


class Share:
    """One request's part of the intake; leaving the context frees it."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._held = 0

    def take(self, size: int) -> None:
        """Book so many bytes. Raises RefusedError (503) where the intake has not that much left."""
        self._intake.take(size)
        self._held += size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._intake.give_back(self._held)


def encoding_of(request: Request) -> str:
    """The body's `Content-Encoding`, `identity` where none is given. Raises RefusedError (415) for an unknown one."""
    encoding = request.headers.get("content-encoding", "").strip().lower() or "identity"
    if encoding != "identity" and encoding not in _WINDOW_BITS:
        raise RefusedError(Refusal.WRONG_ENCODING)
    return encoding


async def read_body(request: Request, limit: int, share: Share) -> bytes:
    """The body as it was sent, at most `limit` bytes.

    Raises RefusedError: 413 as soon as the body is known to be larger (the rest is never kept), 400 where the sender
    left before the end, 503 where too many bodies are held already.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise RefusedError(Refusal.TOO_LARGE)
    pieces: list[bytes] = []
    total = 0
    try:
        async for piece in request.stream():
            total += len(piece)
            if total > limit:
                raise RefusedError(Refusal.TOO_LARGE)
            share.take(len(piece))
            pieces.append(piece)
    except ClientDisconnect as gone:
        raise RefusedError(Refusal.BODY_CUT) from gone
    return b"".join(pieces)


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """The decompressed body, at most `limit` bytes; several gzip members in a row are one body (RFC 1952).

    Raises RefusedError: 413 where there would be more (a bomb is not unpacked any further), 400 for broken or cut data.
    """
    if encoding == "identity":
        return body
    pieces: list[bytes] = []
    left = limit
    while body:
        member = zlib.decompressobj(_WINDOW_BITS[encoding])
        try:
            # One byte beyond the limit tells "exactly full" from "too large"; 0 would mean "no limit" to zlib.
            piece = member.decompress(body, left + 1)
        except zlib.error as error:
            raise RefusedError(Refusal.BROKEN_COMPRESSION) from error
        left -= len(piece)
        if left < 0:
            raise RefusedError(Refusal.TOO_LARGE)
        if not member.eof:
            raise RefusedError(Refusal.TRUNCATED_COMPRESSION)
        pieces.append(piece)
        body = member.unused_data
    return b"".join(pieces)
