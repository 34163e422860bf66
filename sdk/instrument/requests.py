"""requests: what its adapter sends over urllib3.

Its exceptions do not tell how far a request came: urllib3 may have tried several times, and a proxy's or TLS' error may come
before or after. So it is also watched whether a connection wrote a request.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError, ProxyError, SSLError

from toolwitness.sdk.instrument import http_bodies, http_facts
from toolwitness.sdk.instrument.patching import Patches

_CONNECTING = (NewConnectionError, ConnectTimeoutError)
_BEFORE_WRITING = (*_CONNECTING, ProxyError, SSLError)


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the adapter, and the methods by which a connection of urllib3 writes a request."""
    patches.method(module.adapters.HTTPAdapter, "send", http_facts.sending(_connecting_failed))
    broken = (module.exceptions.ChunkedEncodingError, module.ConnectionError, module.Timeout)
    patches.method(module.Response, "iter_content", http_bodies.reading(broken))
    patches.method(module.Response, "json", http_bodies.parse)
    patches.methods(HTTPConnection, {"request": _write, "request_chunked": _write})
    http_facts.count_as_timeout(patches, module.Timeout)


def _connecting_failed(error: BaseException) -> bool:
    reason = error.args[0].reason if error.args and isinstance(error.args[0], MaxRetryError) else None
    return isinstance(reason, _BEFORE_WRITING)


def _write(wrapped: Callable[..., Any], _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    writing = http_facts.writing(_CONNECTING)  # it connects first where it is not connected yet
    if writing is None:
        return wrapped(*args, **kwargs)
    with writing:
        return wrapped(*args, **kwargs)
