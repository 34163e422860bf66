"""A payment service on the loopback that really misbehaves: it can commit and then go silent, and the ledger proves it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

PAID = {"W-1042": 89.90, "W-1077": 24.50, "W-1103": 349.00, "W-1120": 61.20, "W-1131": 18.75, "W-1146": 132.40}
"""What was paid for each order, in EUR; more than that is never refunded."""
BEFORE_COMMIT = frozenset({"ledger_locked"})
"""Codes that the service declares to come before any commit."""
_PATIENCE_S = 30.0
_PATIENCE_IN_SILENCE_S = 0.05
"""How long the client waits after a silent service has booked; the demo need not wait as long as its clock says."""


class Fault(StrEnum):
    """What the service does with the next request that writes."""

    NONE = "none"
    SILENT = "silent"  # commits, then answers too late
    DROP = "drop"  # commits, then drops the connection
    LOCKED = "locked"  # 503 with a code that is declared to come before any commit
    BROKEN = "broken"  # 500 that says nothing


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer of the service."""

    status: int
    body: dict[str, Any]


class Handler(BaseHTTPRequestHandler):
    """Two endpoints: `POST /refunds` and `GET /refunds?order_id=`."""

    server: Service

    def do_GET(self) -> None:
        """Say what was refunded for an order."""
        wanted = parse_qs(urlsplit(self.path).query).get("order_id", [""])[0]
        found = [refund for refund in self.server.ledger.values() if refund["order_id"] == wanted]
        self._answer(Reply(200, {"order_id": wanted, "refunds": found}))

    def do_POST(self) -> None:
        """Refund, unless the planned fault or the ledger says otherwise."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.server.faults.popleft() if self.server.faults else Fault.NONE
        if fault is Fault.LOCKED:
            self._answer(Reply(503, {"code": "ledger_locked", "message": "The ledger is locked; nothing was booked."}))
            return
        if fault is Fault.BROKEN:
            self._answer(Reply(500, {"message": "Internal Server Error"}))
            return
        reply = self.server.book(self.headers["Idempotency-Key"], asked)
        if fault is Fault.SILENT:
            self.server.silent.set()
            self.server.closing.wait(_PATIENCE_S)
        elif fault is Fault.DROP:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        body = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it so
        """Keep the terminal clean."""


class Service(ThreadingHTTPServer):
    """The service with its ledger; a context manager that serves on a free port."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ledger: dict[str, dict[str, Any]] = {}
        self.faults: deque[Fault] = deque()
        self.silent, self.closing = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let go of the requests that wait, then stop."""
        self.closing.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def reset(self) -> None:
        """An empty ledger and no planned faults, as each task of the demo begins."""
        self.ledger.clear()
        self.faults.clear()

    def book(self, key: str, asked: dict[str, Any]) -> Reply:
        """One refund for one key, however often it is asked for."""
        with self._lock:
            if key in self.ledger:
                return Reply(200, self.ledger[key])
            order, amount = asked["order_id"], asked["amount"]
            before = sum(refund["amount"] for refund in self.ledger.values() if refund["order_id"] == order)
            if before + amount > PAID.get(order, 0.0):
                message = f"More than the {PAID.get(order, 0.0):.2f} EUR paid; refunded before: {before:.2f}."
                return Reply(422, {"code": "exceeds_paid_amount", "message": message})
            number = f"RF-{order[2:]}-{len(self.ledger) + 1}"
            self.ledger[key] = {"refund_id": number, "order_id": order, "amount": amount, "currency": "EUR", "status": "booked"}
            return Reply(200, self.ledger[key])

    def _request(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Reply:
        will_be_silent = body is not None and list(self.faults)[:1] == [Fault.SILENT]
        self.silent.clear()
        connection = http.client.HTTPConnection("127.0.0.1", self.server_port, timeout=_PATIENCE_S)
        try:
            connection.request(method, path, body, headers)
            if will_be_silent:
                self.silent.wait(_PATIENCE_S)
                connection.sock.settimeout(_PATIENCE_IN_SILENCE_S)
            answer = connection.getresponse()
            return Reply(answer.status, json.loads(answer.read()))
        finally:
            connection.close()

    def ask_refund(self, key: str, asked: dict[str, Any]) -> Reply:
        """The client's side of a refund. Raises TimeoutError or ConnectionError; the refund may be booked all the same."""
        return self._request("POST", "/refunds", json.dumps(asked), {"Idempotency-Key": key})

    def ask_status(self, order_id: str) -> Reply:
        """The client's side of the question what was refunded."""
        return self._request("GET", f"/refunds?order_id={order_id}", None, {})
