"""The clients that Stainless generates (OpenAI's and Anthropic's) send every request by one method, which is wrapped here.

So what is recorded is what goes over the wire, whichever of their many methods was called; retries inside count as one step.
What the caller gets is the same object; a stream is watched where it reads its events itself.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any, Protocol

import wrapt

from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import steps
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.steps import Answer, Asked, Proposed, Text
from toolwitness.sdk.scopes import DecisionScope


class Events(Protocol):
    """Puts an answer together from the events of a stream.

    `over` is true when the answer has ended, so that a caller who reads no further is not waited for.
    """

    over: bool

    def add(self, event: Any) -> Sequence[Proposed]:
        """Take in one event; gives the calls that it completes, since their tools may run before the answer ends."""

    def answer(self) -> Answer:
        """What the model said so far, but for the calls that were given before."""


class Route(Protocol):
    """One way of asking a model."""

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """The request, from the body that is sent."""

    def answered(self, response: Any) -> Answer:
        """The answer, from the response as an object or as data."""

    def events(self) -> Events:
        """What reads a streamed answer."""


class Client:
    """Wraps one vendor's client. `routes` are by the end of the URL's path."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._unread: weakref.WeakKeyDictionary[Any, _Step] = weakref.WeakKeyDictionary()

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

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Step | None:
        with reading_guard:
            url, body = _sent(args, kwargs)
            path = url.partition("?")[0]
            route = next((route for end, route in self._routes.items() if path.endswith(end)), None)
            if route is None or not isinstance(body, Mapping):
                return None
            decision = steps.ask(route.asked(body))
            return None if decision is None else _Step(decision, route)
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

    def _received(self, step: _Step, response: Any) -> None:
        """Read what the client gives its caller."""
        with reading_guard:
            while isinstance(response, wrapt.ObjectProxy):  # somebody else's around it
                response = response.__wrapped__
            raw = getattr(response, "http_response", None)
            if hasattr(type(response), "__stream__"):
                step.watch(response)
            elif raw is None:
                step.answered(response)
            elif getattr(raw, "is_closed", False) and not _is_event_stream(raw):
                step.answered(json.loads(raw.content))
            else:
                # Not read yet; the caller does so by `parse`, or by itself, which tells us nothing.
                self._unread[response] = step
                weakref.finalize(response, step.conclude)

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
            step = self._unread.pop(response, None)
            if step is None:
                return
            if hasattr(type(parsed), "__stream__"):
                step.watch(parsed)
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


class _Step:
    """A model step that waits for its answer; the current scope while the model is asked, and failed by what is raised then."""

    def __init__(self, decision: DecisionScope, route: Route) -> None:
        self.decision, self._route = decision, route
        self._events: Events | None = None
        self._over = False

    def __enter__(self) -> None:
        """Ask."""
        self.decision.enter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the step where nothing came back; the exception goes on as it is."""
        self.decision.leave()
        if error is not None:
            steps.fail(self.decision)

    def answered(self, response: Any) -> None:
        """Take the whole answer."""
        self._over = True
        try:
            answer = self._route.answered(response)
        except Exception:
            steps.answer(self.decision, Answer())
            raise
        steps.answer(self.decision, answer)

    def watch(self, stream: Any) -> None:
        """Read along while the caller reads a stream; one that is dropped unread ends the step too."""
        self._events = self._route.events()
        inner = stream._iterator  # noqa: SLF001 -- replaced in place, so that the caller gets the very same object
        stream._iterator = self._asteps(inner) if hasattr(inner, "__anext__") else self._steps(inner)  # noqa: SLF001 -- as above
        weakref.finalize(stream, self.conclude)

    def _steps(self, inner: Iterator[Any]) -> Iterator[Any]:
        try:
            for event in inner:
                self._add(event)  # before the caller has it, who may run the tools at once
                yield event
        except BaseException as error:
            self.conclude(None if isinstance(error, GeneratorExit) else error)
            raise
        self.conclude()

    async def _asteps(self, inner: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for event in inner:
                self._add(event)
                yield event
        except BaseException as error:
            self.conclude(None if isinstance(error, GeneratorExit) else error)
            raise
        self.conclude()

    def _add(self, event: Any) -> None:
        with reading_guard:
            if self._events is None or self._over:
                return
            for proposed in self._events.add(event):
                steps.propose(self.decision, proposed)
            if self._events.over:
                self.conclude()

    def conclude(self, error: BaseException | None = None) -> None:
        """End the step by what was read so far; only the first time counts."""
        if self._over:
            return
        self._over = True
        if error is not None:
            steps.fail(self.decision)
            return
        with reading_guard:
            steps.answer(self.decision, Answer() if self._events is None else self._events.answer())


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
