"""The HTTP side: OTLP in, named queries out, everything within limits and only for the hosts that are allowed.

| path | answers |
|---|---|
| POST /v1/traces | 200 once the spans are committed, with a `toolwitness-receipt`; refusals as in `refusal.py` |
| POST /api/query | an Arrow IPC stream of a named query's rows |
| GET /api/health | who this is |
| all else under /v1 and /api | 404 |

Every refusal is JSON `{"code", "message"}` as of `google.rpc.Status`, and is counted in table `ingest`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio.to_thread
import pyarrow as pa
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwitness.collector.receive import wire
from toolwitness.collector.receive.body import Share, encoding_of, inflate, read_body
from toolwitness.collector.receive.collector import Collector
from toolwitness.collector.receive.decode import Decoded, decode_request
from toolwitness.collector.receive.refusal import Refusal, RefusedError
from toolwitness.collector.store import queries
from toolwitness.collector.store.receipt import Receipt
from toolwitness.model.exceptions import QueueFullError, UnknownQueryError

ARROW = "application/vnd.apache.arrow.stream"
_QUERY_BYTES = 64 * 1024
_PARAMETER_TYPES = (str, int, float, type(None))
_LOG = logging.getLogger(__name__)
_Handler = Callable[[Collector, Request], Awaitable[Response]]


def _refuse(collector: Collector, refused: RefusedError) -> Response:
    """Have the refusal counted, and make its answer."""
    answer = refused.answer
    collector.count_refusal(answer.reason)
    content = {"code": answer.code, "message": refused.message}
    return JSONResponse(content, status_code=answer.status, headers=refused.headers)


class HostGuard:
    """ASGI middleware that lets in only requests for an allowed `Host`, web sockets included.

    Against a web site that has its own name resolve to the loopback address, so that the user's browser brings it here.
    """

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app = app
        self._collector = collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, answer 421, or close the web socket before it opens."""
        if scope["type"] == "lifespan" or _host(Headers(scope=scope)) in self._collector.hosts:
            await self._app(scope, receive, send)
            return
        response = _refuse(self._collector, RefusedError(Refusal.WRONG_HOST))
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await response(scope, receive, send)


def _host(headers: Headers) -> str:
    """The `Host` header without its port."""
    host = headers.get("host", "").lower()
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


class Endpoint:
    """One path as an ASGI application: checks the method, handles the request, and answers what is refused."""

    def __init__(self, collector: Collector, handler: _Handler, methods: tuple[str, ...] = ()) -> None:
        self._collector = collector
        self._handler = handler
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            response = await self._handle(Request(scope, receive))
        except RefusedError as refused:
            response = _refuse(self._collector, refused)
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        if self._methods and request.method not in self._methods:
            raise RefusedError(Refusal.WRONG_METHOD, allow=", ".join(self._methods))
        return await self._handler(self._collector, request)


async def _traces(collector: Collector, request: Request) -> Response:
    """Take spans in; the answer comes after their commit."""
    media = wire.media_of(request.headers.get("content-type"))
    encoding = encoding_of(request)
    with Share(collector.intake) as share:
        sent = await read_body(request, collector.body_bytes, share)
        work = partial(_decode, sent, encoding, media, collector.body_bytes)
        decoded, size = await anyio.to_thread.run_sync(work, limiter=collector.decoders)
    return wire.reply(await _stored(collector, decoded, size), media)


def _decode(sent: bytes, encoding: str, media: str, limit: int) -> tuple[Decoded, int]:
    body = inflate(sent, encoding, limit)
    return decode_request(body, media), len(body)


async def _stored(collector: Collector, decoded: Decoded, size: int) -> Receipt:
    """The receipt, once the spans are durable. Raises RefusedError (503) where they are not going to be."""
    try:
        future = collector.writer.submit(decoded.rows, size=size, rejected=decoded.rejected, redactions=decoded.redactions)
    except QueueFullError as full:
        raise RefusedError(Refusal.QUEUE_FULL) from full
    stored = asyncio.wrap_future(future)
    await asyncio.wait([stored])
    error = stored.exception()
    if error is not None:
        _LOG.error("a request's spans could not be stored", exc_info=error)
        raise RefusedError(Refusal.STORE_FAILED) from error
    return stored.result()


async def _query(collector: Collector, request: Request) -> Response:
    """Run a named query; only JSON is taken, which no web page can send across origins unasked."""
    if wire.media_of(request.headers.get("content-type")) != wire.JSON:
        raise RefusedError(Refusal.WRONG_CONTENT_TYPE, "Content-Type must be application/json here")
    with Share(collector.intake) as share:
        name, params = _asked(await read_body(request, _QUERY_BYTES, share))
    try:
        content = await run_in_threadpool(lambda: _ipc(collector.store.query(name, params)))
    except UnknownQueryError as error:
        refusal = Refusal.BAD_PARAMETERS if name in queries.names() else Refusal.UNKNOWN_QUERY
        raise RefusedError(refusal, str(error)) from error
    return Response(content, media_type=ARROW)


def _asked(body: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        document = json.loads(body)
        name, params = document["name"], document.get("params") or {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RefusedError(Refusal.BAD_QUERY) from error
    simple = isinstance(params, dict) and all(isinstance(value, _PARAMETER_TYPES) for value in params.values())
    if not isinstance(name, str) or not simple:
        raise RefusedError(Refusal.BAD_QUERY)
    return name, params


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


async def _health(collector: Collector, _request: Request) -> Response:
    return JSONResponse(collector.health())


async def _nothing(_collector: Collector, _request: Request) -> Response:
    raise RefusedError(Refusal.UNKNOWN_PATH)


def routes(collector: Collector) -> list[BaseRoute]:
    """The collector's routes for any Starlette application, Streamlit's `App` too; the collector may be opened later.

    Each is behind a `HostGuard` of its own. The two that catch the rest keep an unknown path from being answered 200 by
    the application's pages.
    """
    endpoints: list[tuple[str, _Handler, tuple[str, ...]]] = [
        ("/v1/traces", _traces, ("POST",)),
        ("/api/query", _query, ("POST",)),
        ("/api/health", _health, ("GET", "HEAD")),
        ("/v1/{rest:path}", _nothing, ()),
        ("/api/{rest:path}", _nothing, ()),
    ]
    return [Route(path, HostGuard(Endpoint(collector, handler, methods), collector)) for path, handler, methods in endpoints]


def build_app(collector: Collector) -> Starlette:
    """The collector alone, without pages."""
    return Starlette(routes=routes(collector), lifespan=collector.lifespan)
