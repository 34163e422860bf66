"""Idempotency keys: one a payment that is meant, the same again for each retry of it, also after a restart (A12).

A key that two different payments could share is never handed out, nor one that a restart could change: an error comes instead,
before anything is sent. Keys are the business's own, so they are the same with telemetry on, off or broken.
"""

from __future__ import annotations

import contextlib
import hmac
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolwitness.model.digest import KeyedDigest, derived_key_digest, key_digest, keyed_digest
from toolwitness.model.exceptions import IdempotencyConflictError, IdempotencyKeyError
from toolwitness.sdk.canonical import exact_arguments
from toolwitness.sdk.keybook import Book, Ending, lock, prune

if TYPE_CHECKING:
    from toolwitness.model.errors import OwnRule
    from toolwitness.sdk.calls import CallScope
    from toolwitness.sdk.scopes import RunScope
    from toolwitness.sdk.settling import Tries

_VERSION = 1
_REMEDY = (
    "pass plain JSON values, name those that tell one payment from another by @toolwitness.tool(key_arguments=[...]), or give "
    "the call a key of your own by idempotency_key="
)


class Secret(NamedTuple):
    """What keys are made under, and whether the next process will find it again."""

    key: bytes
    lasts: bool


class _Subject(NamedTuple):
    """What a key is about. `stage` tells whether the arguments are those proposed or those that a decorated tool runs with."""

    stage: Literal["proposed", "runs"]
    server: str
    tool: str
    arguments: str


class CallKey:
    """The key of one call. It is its `text` and never leaves; the `digest` does."""

    __slots__ = ("_book", "_ended", "_ordinal", "_rules", "_tries", "_twin", "digest", "subject", "text")

    def __init__(self, text: str, digest: KeyedDigest, subject: _Subject | None) -> None:
        self.text, self.digest, self.subject = text, digest, subject
        self._book: Book | None = None
        self._tries: Tries | None = None
        self._ended: str | None = None
        self._twin, self._ordinal = "", 0
        self._rules: Sequence[OwnRule] = ()

    def watch(self, book: Book, twin: str, ordinal: int, tries: Tries, rules: Sequence[OwnRule]) -> None:
        """Tell the book how the call ends, since a later one with the same arguments gets another key by it."""
        self._book, self._twin, self._ordinal, self._tries, self._rules = book, twin, ordinal, tries, rules

    def attempted(self, ordinal: int, facts: dict[str, Any]) -> None:
        """Take in what an attempt came to."""
        if self._tries is not None:
            self._tries.add(ordinal, facts)

    @property
    def done(self) -> bool:
        """Whether the call is known to have taken effect."""
        return self._ended == Ending.DONE

    def look(self, call: CallScope) -> None:
        """Look whether the call ended for certain. Raises OSError where that cannot be written."""
        if self._book is None or self._tries is None:
            return
        if call.over:
            self._book.waiting.get(self._twin, {}).pop(call.id, None)
        ending = self._tries.ending(call, self._rules)
        if ending is not None and ending != self._ended:
            self._ended = ending
            self._book.end(self._twin, self._ordinal, call.id, ending)


def tries_of(call: CallScope) -> Tries:
    """What will be seen of the attempts of a call. What judges them is imported where the first key is made."""
    from toolwitness.sdk.settling import Tries  # noqa: PLC0415 -- as said above

    return Tries(unseen=call.tried)


class Keys:
    """Makes the keys of one process. The `secret` is asked for when the first is made; `folder` is that of the books.

    Without a folder only runs without an id of the application's have keys, since nothing would outlive the process.
    """

    def __init__(self, secret: Callable[[], Secret], folder: Path | None, error_rules: Sequence[OwnRule] = ()) -> None:
        self._load, self._folder, self._rules = secret, folder, error_rules
        self._secret: Secret | None = None
        self._given = Book(forgets=True)
        self.entered: set[RunScope] = set()
        """The runs with an id of the application's that something runs in."""

    def of(self, call: CallScope) -> str:
        """The key of a call, the same each time.

        Raises IdempotencyKeyError where there is none that is certain, IdempotencyConflictError where its node or key was used
        with other arguments.
        """
        if call.given_key is not None:
            return self._as_given(call, call.given_key)
        with lock:
            try:
                subject = _subject(call)
                self._compare(call, subject)
                call.keyed = call.keyed or self._make(call, subject)
            except OSError as error:
                raise IdempotencyKeyError(
                    f"{_name(call)} has no idempotency key, since a restart would not find it again ({error.strerror}); make "
                    "the state folder writable, or name another by TOOLWITNESS_STATE_DIR"
                ) from error
            return call.keyed.text

    def bind(self, call: CallScope) -> None:
        """Before a call runs, remember its arguments where it has a node or key by which it can be compared.

        Raises IdempotencyConflictError where that was used with others. What cannot be compared or kept in mind passes: nobody
        asked for a key yet.
        """
        with lock, contextlib.suppress(IdempotencyKeyError, OSError):
            self._compare(call, _subject(call))

    def digest(self, given: str) -> KeyedDigest:
        """What may be recorded of a key."""
        return key_digest(self.secret.key, given)

    @property
    def secret(self) -> Secret:
        """What the keys are made under."""
        self._secret = self._secret or self._load()
        return self._secret

    def prune(self) -> None:
        """Forget runs that asked for no key for thirty days."""
        if self._folder is not None:
            prune(self._folder)

    def _as_given(self, call: CallScope, given: Any) -> str:
        if type(given) is not str or not given:
            raise IdempotencyKeyError(f"{_name(call)} was given an idempotency key that is no text, or an empty one")
        self.bind(call)
        call.keyed = call.keyed or CallKey(given, self.digest(given), None)
        return given

    def _compare(self, call: CallScope, subject: _Subject) -> None:
        """Raise IdempotencyConflictError where what identifies the call was used with other arguments."""
        own = call.keyed.subject if call.keyed is not None else None
        agrees = own is None or own.stage != subject.stage or own == subject
        bound = self._mark("arguments", subject.arguments)
        if not agrees or not all(book.bind(name, bound) for book, name in self._uses(call, subject, own)):
            call.conflict()
            raise IdempotencyConflictError(
                f"{_name(call)}: its node or idempotency key was used with other arguments before; give another payment "
                "another node or key, and ask what became of the first one before it is repeated with changes"
            )

    def _uses(self, call: CallScope, subject: _Subject, own: _Subject | None) -> Iterator[tuple[Book, str]]:
        """What the arguments are bound to, and where that is remembered."""
        identity = (subject.stage, subject.server, subject.tool)
        node = _node(call)
        if node is not None:
            yield self._book(call.run), self._mark("node", *identity, node)
        if type(call.given_key) is str:
            yield self._given, self._mark("key", *identity, call.given_key)
        elif call.keyed is not None and own is not None and own.stage != subject.stage:
            yield self._book(call.run), self._mark("ran", *identity, call.keyed.text)

    def _make(self, call: CallScope, subject: _Subject) -> CallKey:
        """Derive the key. Raises as `of`, and OSError."""
        book, node = self._book(call.run), _node(call)
        if node is not None:
            return self._derive(call, subject, ["node", node])
        twin = self._mark("twin", subject.server, subject.tool, subject.arguments)
        for earlier in list(book.waiting.get(twin, {}).values()):
            if earlier.keyed is not None:
                earlier.keyed.look(earlier)
        ordinal = book.ask(twin, call.id)
        key = self._derive(call, subject, ["settled", ordinal])
        key.watch(book, twin, ordinal, tries_of(call), self._rules)
        book.waiting.setdefault(twin, {})[call.id] = call
        return key

    def _derive(self, call: CallScope, subject: _Subject, place: list[Any]) -> CallKey:
        parts = ["idempotency", _VERSION, _identity(call.run.root), subject.server, subject.tool, place, subject.arguments]
        text = hmac.digest(self.secret.key, json.dumps(parts).encode(), "sha256").hex()
        return CallKey(text, derived_key_digest(self.secret.key, text) or self.digest(text), subject)

    def _mark(self, *words: str) -> str:
        return keyed_digest(self.secret.key, ["idempotency", *words])

    def _book(self, run: RunScope) -> Book:
        """The memory of a run. Raises IdempotencyKeyError where it could not outlive the process, and must."""
        root = run.root
        if run.inferred and self.entered:
            raise IdempotencyKeyError(
                "this code is outside of any run, while a run is open in this process: if it was handed to a thread, hand "
                "the run over by contextvars.copy_context().run, else begin a run of its own"
            )
        if root.inherited and not root.named:
            raise IdempotencyKeyError(
                "this run began in another process, which may make the same payment; give it an id by toolwitness.run(id=...)"
            )
        if root.book is None:
            root.book = Book(self._path(root.id) if root.named else None)
        return root.book

    def _path(self, run_id: str) -> Path:
        if self._folder is None or not self.secret.lasts:
            raise IdempotencyKeyError(
                "there is no lasting secret for the keys of a run that has an id of its own; set TOOLWITNESS_DIGEST_KEY, or "
                "make the state folder writable (TOOLWITNESS_STATE_DIR)"
            )
        return self._folder / f"{self._mark('run', run_id)}.jsonl"


def _identity(run: RunScope) -> list[str]:
    """What no other run has: the application's id of it, else that of the run's own span."""
    return ["run", run.id] if run.named else ["span", run.trace_id, run.span_id]


def _name(call: CallScope) -> str:
    definition = None if call.ran is None else call.ran[0]
    server, tool = (call.server, call.tool) if definition is None else (definition.server, definition.name)
    return f"a call of tool {server}/{tool}" if server else f"a call of tool {tool}"


def _node(call: CallScope) -> str | None:
    """The application's name of the call's place. Raises IdempotencyKeyError for what is no name."""
    node = str(call.node) if type(call.node) is int else call.node
    if node is not None and (type(node) is not str or not node):
        raise IdempotencyKeyError(f"{_name(call)} has a node that is neither a text nor an integer, or an empty one")
    return node


def _subject(call: CallScope) -> _Subject:
    """What the call is about: where a decorated tool runs in it, that and its arguments. Raises IdempotencyKeyError."""
    if call.ran is None:
        stage: Literal["proposed", "runs"] = "proposed"
        server, tool, copy = call.server, call.tool, call.arguments
        if copy.value is None:
            raise IdempotencyKeyError(f"{_name(call)} has no idempotency key, since its arguments were not told; {{}} are none")
    else:
        stage, (definition, copy) = "runs", call.ran
        server, tool = definition.server, definition.name
    arguments = exact_arguments(copy)
    if arguments is None:
        raise IdempotencyKeyError(
            f"{_name(call)} has no idempotency key, since other arguments could not be told from its own (an object, a set, "
            f"bytes, or more than is copied); {_REMEDY}"
        )
    return _Subject(stage, server, tool, arguments)
