"""The store of another process, reached over HTTP: the same questions, and spans in OTLP."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from toolwitness.collector.store.owner import read_owner
from toolwitness.collector.store.receipt import Receipt
from toolwitness.model.exceptions import CollectorAnswerError, SettingsError, UnknownQueryError

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_TRIES = 5
_LONGEST_WAIT_S = 5.0
_BUSY = 503
_QUERY_REFUSALS = frozenset({400, 404})
_TIMEOUT_S = 60.0


class _Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes


class RemoteStore:
    """What a running toolwitness answers at `url`; no connection is kept, so it may come and go.

    Each call raises CollectorAnswerError where nothing, or something else than a toolwitness, answers. A proxy from the
    environment is never asked for a loopback address.
    """

    def __init__(self, url: str, *, timeout_s: float = _TIMEOUT_S, sleep: Callable[[float], None] = time.sleep) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"{url!r} is no address of a collector; it looks like http://127.0.0.1:4318")
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._sleep = sleep
        handlers = [urllib.request.ProxyHandler({})] if parts.hostname in _LOOPBACK else []
        self._opener = urllib.request.build_opener(*handlers)

    def health(self) -> dict[str, Any]:
        """Who answers: `pid`, `db` (the file's full path), `url`, `started_ns`, `queries`."""
        answer = self._ask("/api/health")
        try:
            found = json.loads(answer.body) if answer.status == http.HTTPStatus.OK else None
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("product") != "toolwitness":
            raise self._stranger(answer)
        return found

    def query(self, name: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """The rows of a named query. Raises UnknownQueryError where there is none, or its parameters do not fit."""
        asked = json.dumps({"name": name, "params": dict(params or {})}).encode()
        answer = self._ask("/api/query", asked, "application/json")
        message = _message(answer)
        if answer.status in _QUERY_REFUSALS and message is not None:
            raise UnknownQueryError(message)
        if answer.status != http.HTTPStatus.OK:
            raise self._refused(answer)
        try:
            return pa.ipc.open_stream(answer.body).read_all()
        except pa.ArrowInvalid as error:
            raise self._stranger(answer) from error

    def ingest(self, otlp: bytes) -> Receipt:
        """Store the spans of an OTLP protobuf request; returns when they are durable. Waits while the queue is full."""
        answer = self._ask("/v1/traces", otlp, "application/x-protobuf")
        for _ in range(_TRIES - 1):
            if answer.status != _BUSY:
                break
            self._sleep(_wait_s(answer))
            answer = self._ask("/v1/traces", otlp, "application/x-protobuf")
        if answer.status != http.HTTPStatus.OK:
            raise self._refused(answer)
        try:
            return Receipt(**json.loads(answer.headers.get("toolwitness-receipt", "")))
        except (ValueError, TypeError) as error:
            raise self._stranger(answer) from error

    def _ask(self, path: str, body: bytes | None = None, media: str = "") -> _Answer:
        headers = {"Content-Type": media} if media else {}
        request = urllib.request.Request(self.url + path, body, headers)  # noqa: S310 -- http(s) alone, see __init__
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return _Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as answered:
            with answered:
                return _Answer(answered.code, answered.headers, answered.read())
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error or type(error).__name__
            raise CollectorAnswerError(
                f"no answer from {self.url} ({reason}); see whether toolwitness still runs there, or start it again: "
                "toolwitness up --db FILE"
            ) from error

    def _refused(self, answer: _Answer) -> CollectorAnswerError:
        message = _message(answer)
        if message is None:
            return self._stranger(answer)
        return CollectorAnswerError(f"the collector at {self.url} refused with status {answer.status}: {message}")

    def _stranger(self, answer: _Answer) -> CollectorAnswerError:
        return CollectorAnswerError(
            f"{self.url} answered with status {answer.status}, but not as a toolwitness of this version does; "
            "see what listens on that port, and give the URL that `toolwitness up` printed"
        )


def _message(answer: _Answer) -> str | None:
    """What a refusal says; None where the answer is not one of ours."""
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, TypeError, KeyError):
        return None


def _wait_s(answer: _Answer) -> float:
    given = answer.headers.get("retry-after", "")
    return min(float(given), _LONGEST_WAIT_S) if given.isdecimal() else 1.0


def running(db: Path) -> RemoteStore | None:
    """The running toolwitness that serves the file, if one does; the word in the owner file may be out of date."""
    owner = read_owner(db)
    if owner is None or not owner.url:
        return None
    remote = RemoteStore(owner.url)
    try:
        served = remote.health().get("db")
    except CollectorAnswerError:
        return None
    return remote if served == str(db.resolve()) else None
