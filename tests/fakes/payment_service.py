"""A payment service on loopback that keeps books of its own, and that a test tells what to do with each submission.

`POST /payments` with a `reference`, `GET /payments/{reference}` for what became of it. A submission with an `Idempotency-Key`
that was used is answered as the first one was, one that used it for something else with 422. Its clock is the test's.
"""

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_RESET = struct.pack("ii", 1, 0)
_LONGEST_S = 20


@dataclass(frozen=True)
class Instruction:
    """What becomes of one submission.

    `commits`: `before` the answer, `later` by the service's clock, when the client has `left` without one, or `never`.
    `answer`: a status, or `garbage` (200 and no JSON), `half` (a body that breaks off), `short` (a body longer than it says),
    `drop` (the connection closed without a word), `reset`, or `silent` (until the client leaves). `hidden_s`: how long the
    service's own status knows nothing of it.
    """

    commits: str = "before"
    answer: int | str = 201
    hidden_s: float = 0

    def __str__(self):
        """Be the name of a test."""
        return f"{self.answer}-{self.commits}" + ("-hidden" if self.hidden_s else "")


@dataclass
class Payment:
    """One submission that was taken; it is in the books from `committed_s` on, which is None where it never will be."""

    reference: str
    body: dict
    known_s: float
    committed_s: float | None
    refused_s: float | None = None


class PaymentService:
    """Listens from the start; `submitted` are the references of all that reached it, also of what it did not commit."""

    def __init__(self):
        self.instructions = deque()
        self.submitted = []
        self._payments, self._answers = [], {}
        self._advanced_s = 0.0
        self._busy = threading.Condition()
        self._handling = 0
        app = Starlette(
            routes=[
                Route("/payments", self._submit, methods=["POST"]),
                Route("/payments/{reference}", self._status, methods=["GET"]),
            ]
        )
        listener = socket.create_server(("127.0.0.1", 0))
        with socket.create_server(("127.0.0.1", 0)) as closed:
            self.refused = f"http://127.0.0.1:{closed.getsockname()[1]}"
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]})
        self._thread.start()

    def now_s(self):
        """The service's time: the real one, and what it was advanced by."""
        return time.time() + self._advanced_s

    def advance(self, seconds):
        """Let time pass."""
        self._advanced_s += seconds

    def wait_for(self, reference):
        """Wait until a submission of this reference has arrived and none is being handled any more."""
        with self._busy:
            assert self._busy.wait_for(lambda: reference in self.submitted and not self._handling, _LONGEST_S)

    def committed(self, reference):
        """How many payments of this reference stand in the books by now."""
        mine = [each for each in self._payments if each.reference == reference]
        return sum(each.committed_s is not None and each.committed_s <= self.now_s() for each in mine)

    def close(self):
        """Stop."""
        self._server.should_exit = True
        self._thread.join()

    async def _submit(self, request):
        with self._busy:
            self._handling += 1
        try:
            return await self._handle(request)
        finally:
            with self._busy:
                self._handling -= 1
                self._busy.notify_all()

    async def _handle(self, request):
        key, body = request.headers.get("idempotency-key"), await request.json()
        self.submitted.append(body["reference"])
        told = self.instructions.popleft() if self.instructions else Instruction()
        used = self._answers.get(key)
        if used is not None:
            return used[1] if used[0] == body else JSONResponse({"error": {"code": "idempotency_key_reused"}}, 422)
        if key is not None and told.commits != "never":
            state, status = ("accepted", 202) if told.commits == "later" else ("paid", 201)
            self._answers[key] = body, JSONResponse({"state": state, "reference": body["reference"]}, status)
        if told.commits in {"before", "later"}:
            self._take(body, told, later=told.commits == "later")
        answer = await self._answer(request, body, told)
        if told.commits == "left":
            self._take(body, told)
        return answer

    def _take(self, body, told, *, later=False):
        now_s = self.now_s()
        committed_s = now_s + (_LONGEST_S if later else 0)
        self._payments.append(Payment(body["reference"], body, now_s + told.hidden_s, committed_s))

    async def _answer(self, request, body, told):
        paid = {"state": "paid", "reference": body["reference"]}
        if told.answer == 202:
            if told.commits == "never":
                now_s = self.now_s()
                self._payments.append(Payment(body["reference"], body, now_s, None, now_s + _LONGEST_S))
            return JSONResponse({"state": "accepted", "reference": body["reference"]}, 202)
        if isinstance(told.answer, int):
            refused = {"error": {"code": "card_declined" if told.answer == 402 else f"status_{told.answer}"}}
            return JSONResponse(paid if told.answer < 400 else refused, told.answer)
        if told.answer == "garbage":
            return Response("<html>welcome</html>", media_type="text/html")
        await self._break_off(request, json.dumps(paid).encode(), told.answer)
        return Response()

    async def _break_off(self, request, paid, how):
        """Do to the connection what no application can; it is over afterwards."""
        connection = next(each for each in self._server.server_state.connections if each.client == tuple(request.client))
        transport = connection.transport
        if how in {"half", "short"}:
            length = len(paid) + 10 if how == "half" else len(paid) // 2
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            transport.write(head.encode() + paid)
        if how == "reset":
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if how != "silent":
            transport.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_S):
                while (await request.receive())["type"] != "http.disconnect":
                    pass

    async def _status(self, request):
        now_s = self.now_s()
        for each in self._payments:
            if each.reference == request.path_params["reference"] and each.known_s <= now_s:
                return JSONResponse({"state": _state(each, now_s), "reference": each.reference})
        return JSONResponse({"error": {"code": "not_found"}}, 404)


def _state(payment, now_s):
    if payment.committed_s is not None and payment.committed_s <= now_s:
        return "paid"
    return "refused" if payment.refused_s is not None and payment.refused_s <= now_s else "accepted"
