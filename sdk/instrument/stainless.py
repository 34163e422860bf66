"""The clients that Stainless generates (OpenAI's and Anthropic's) send every request by one method, which is wrapped here.

So what is recorded is what goes over the wire, whichever of their many methods was called; retries inside count as one step.
What the caller gets is the same object; a stream is watched where it reads its events itself.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import wrapt

from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import steps
from toolwitness.sdk.instrument.exchange import Exchange, Route
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.steps import Text


class Client:
    """Wraps one vendor's client. `routes` are by the end of the URL's path."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._unread: weakref.WeakKeyDictionary[Any, tuple[Exchange, weakref.finalize[..., Any]]] = weakref.WeakKeyDictionary()

    def instrument(self, patches: Patches, package: str) -> None:
        """Wrap the client of a package."""
        patches.when_imported(f"{package}._base_client", lambda module: self._client(patches, module))
        patches.when_imported(f"{package}._response", lambda module: self._responses(patches, module))
        patches.when_imported(f"{package}._legacy_response", lambda module: self._legacy(patches, module))

    def _client(self, patches: Patches, module: ModuleType) -> None:
        # Others put their wrapper around `request` into a subclass, around what they found there when they came, and leave that
        # there. Where they came first, ours is around `post`, which calls `request`; a step is recorded by one of the two.
        patches.methods(module.SyncAPIClient, {"request": self._request, "post": self._request})
        patches.methods(module.AsyncAPIClient, {"request": self._arequest, "post": self._arequest})

    def _responses(self, patches: Patches, module: ModuleType) -> None:
        patches.method(module.APIResponse, "parse", self._parse)
        patches.method(module.AsyncAPIResponse, "parse", self._aparse)

    def _legacy(self, patches: Patches, module: ModuleType) -> None:
        patches.method(module.LegacyAPIResponse, "parse", self._parse)

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exchange | None:
        with reading_guard:
            url, body = _sent(args, kwargs)
            path = url.partition("?")[0]
            route = next((route for end, route in self._routes.items() if path.endswith(end)), None)
            if route is None or not isinstance(body, Mapping):
                return None
            decision = steps.ask(route.asked(body))
            return None if decision is None else Exchange(decision, route)
        return None

    def _request(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        step = self._begin(args, kwargs)
        if step is None:
            return wrapped(*args, **kwargs)
        with step:
            response = wrapped(*args, **kwargs)
        self._received(step, response)
        return response

    async def _arequest(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        step = self._begin(args, kwargs)
        if step is None:
            return await wrapped(*args, **kwargs)
        with step:
            response = await wrapped(*args, **kwargs)
        self._received(step, response)
        return response

    def _received(self, step: Exchange, response: Any) -> None:
        """Read what the client gives its caller."""
        with reading_guard:
            while isinstance(response, wrapt.ObjectProxy):  # somebody else's around it
                response = response.__wrapped__
            raw = getattr(response, "http_response", None)
            if hasattr(type(response), "__stream__"):
                watch(step, response)
            elif raw is None:
                step.answered(response)
            elif getattr(raw, "is_closed", False) and not _is_event_stream(raw):
                step.answered(json.loads(raw.content))
            else:
                # Not read yet; the caller does so by `parse`, or by itself, which tells us nothing.
                self._unread[response] = step, weakref.finalize(response, step.conclude)

    def _parse(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parsed = wrapped(*args, **kwargs)
        self._parsed(instance, parsed)
        return parsed

    async def _aparse(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parsed = await wrapped(*args, **kwargs)
        self._parsed(instance, parsed)
        return parsed

    def _parsed(self, response: Any, parsed: Any) -> None:
        with reading_guard:
            unread = self._unread.pop(response, None)
            if unread is None:
                return
            step, dropped = unread
            dropped.detach()  # what was parsed lives on without it
            if hasattr(type(parsed), "__stream__"):
                watch(step, parsed)
            else:
                step.answered(parsed)


def _sent(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """The URL and the body of a request, by the arguments of `post(path, body=...)` or `request(cast_to, options)`."""
    path = kwargs["path"] if "path" in kwargs else args[0] if args else None
    if isinstance(path, str):
        return path, kwargs.get("body")
    options = argument(args, kwargs, 1, "options")
    return str(options.url), options.json_data


def _is_event_stream(raw: Any) -> bool:
    return "text/event-stream" in str(raw.headers.get("content-type"))


def watch(step: Exchange, stream: Any) -> None:
    """Read along while the caller reads a stream; one that is dropped unread ends the step too."""
    inner = stream._iterator  # noqa: SLF001 -- replaced in place, so that the caller gets the very same object
    stream._iterator = step.aread(inner) if hasattr(inner, "__anext__") else step.read(inner)  # noqa: SLF001 -- as above
    weakref.finalize(stream, step.conclude)


def field(item: Any, name: str) -> Any:
    """A field of an object that may be data or one of the client's models; None where there is none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def texts(role: str, content: Any) -> Iterator[Text]:
    """The texts of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        yield Text(role, content)
        return
    for part in content or ():
        text = field(part, "text")
        if isinstance(text, str):
            yield Text(role, text)
