"""httpx: what its transports send over the network.

The transport is wrapped, so that each redirect and each of a client's own retries is a request; transports of the application's
own (tests, WSGI) send nothing. Its exceptions tell whether connecting failed. The body of a request may raise the same, when it
comes from another request; so the connections of httpcore are watched as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolwitness.sdk.instrument import http_bodies, http_facts
from toolwitness.sdk.instrument.patching import Patches


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the transports of httpx, or of a package that is built as it is."""
    unsent = (module.ConnectError, module.ConnectTimeout, module.PoolTimeout, module.ProxyError, module.UnsupportedProtocol)

    def connecting_failed(error: BaseException) -> bool:
        return isinstance(error, unsent)

    async def asend(wrapped: Callable[..., Any], _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = http_facts.begin(connecting_failed, args, kwargs)
        if request is None:
            return await wrapped(*args, **kwargs)
        with request:
            response = await wrapped(*args, **kwargs)
        request.answered(response)
        return response

    patches.method(module.HTTPTransport, "handle_request", http_facts.sending(connecting_failed))
    patches.method(module.AsyncHTTPTransport, "handle_async_request", asend)
    broken = (module.TransportError,)
    patches.method(module.Response, "iter_raw", http_bodies.reading(broken))
    patches.method(module.Response, "aiter_raw", http_bodies.areading(broken))
    patches.method(module.Response, "json", http_bodies.parse)
    core = module.__name__.replace("httpx", "httpcore")
    for kind in ("http11", "http2"):
        patches.when_imported(f"{core}._sync.{kind}", lambda found: _connections(patches, core, found))
        patches.when_imported(f"{core}._async.{kind}", lambda found: _connections(patches, core, found))
    http_facts.count_as_timeout(patches, module.TimeoutException)


def _connections(patches: Patches, core: str, module: ModuleType) -> None:
    """Watch the connections of one protocol, which are there before they get a request."""
    errors = sys.modules[f"{core}._exceptions"]
    before, after = (errors.ConnectionNotAvailable,), (errors.ReadError, errors.ReadTimeout, errors.RemoteProtocolError)

    def write(wrapped: Callable[..., Any], _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        writing = None if _asks_for_a_tunnel(*args, **kwargs) else http_facts.writing(before, after)
        if writing is None:
            return wrapped(*args, **kwargs)
        with writing:
            return wrapped(*args, **kwargs)

    async def awrite(wrapped: Callable[..., Any], _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        writing = None if _asks_for_a_tunnel(*args, **kwargs) else http_facts.writing(before, after)
        if writing is None:
            return await wrapped(*args, **kwargs)
        with writing:
            return await wrapped(*args, **kwargs)

    for name, method, wrapper in (("", "handle_request", write), ("Async", "handle_async_request", awrite)):
        for protocol in ("HTTP11Connection", "HTTP2Connection"):
            owner = vars(module).get(name + protocol)
            if owner is not None:
                patches.method(owner, method, wrapper)


def _asks_for_a_tunnel(request: Any) -> bool:
    """Whether a request is the proxy's, which the origin gets nothing of."""
    return bool(request.method == b"CONNECT")
