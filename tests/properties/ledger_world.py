"""A world with books of its own, and an agent in it that the SDK records: what `test_ledger_world` moves about.

The service knows what truly took effect and when. The agent knows only what came back to it. Nothing here reads what
toolwitness claims.
"""

from __future__ import annotations

import asyncio
import functools
import json
import random
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from toolwitness.collector.receive.decode import rows_of_request
from toolwitness.collector.store.store import Store
from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import Known, Method, SideEffect
from toolwitness.model.reconciling import Attempted, StatusAnswer, judge
from toolwitness.model.records import Reconciliation
from toolwitness.sdk import Recorder, SeededIds, setup
from toolwitness.sdk.calls import AttemptScope, CallScope
from toolwitness.sdk.clock import Clock
from toolwitness.sdk.spans import Place, build_span
from toolwitness.sdk.state import Journal, OpenAttempt
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS

TICK_NS = 1_000_000
DAY_NS = 86_400 * SECOND_NS
SETTLES_S = 60.0
TOOLS = {
    each.name: each
    for each in (
        ToolDefinition(name="pay", side_effect=SideEffect.WRITE, idempotent=Known.YES, settle_after_s=SETTLES_S),
        ToolDefinition(name="order", side_effect=SideEffect.WRITE, settle_after_s=SETTLES_S),
        ToolDefinition(name="remove", side_effect=SideEffect.DESTRUCTIVE, settle_after_s=SETTLES_S),
        ToolDefinition(name="send", side_effect=SideEffect.UNKNOWN),
        ToolDefinition(name="look", side_effect=SideEffect.READ),
    )
}
FATES = ("commits", "commits in part", "commits later", "refuses", "is lost")
"""What becomes of a request that was sent."""
ENDS = ("answer", "reset", "timeout", "cancel", "garbage", "gateway", "never sent")
"""What the agent sees of an attempt, as far as its fate allows."""


@functools.cache
def _empty_file() -> Path:
    path = Path(tempfile.mkdtemp()) / "empty.duckdb"
    Store.open(path, clock=lambda: MONDAY_NS).close()
    return path


def open_copy(path: Path, clock: Clock) -> Store:
    """A store; a new one is the copy of an empty file, since to make its tables takes longer than a story."""
    if not path.exists():
        shutil.copy(_empty_file(), path)
    return Store.open(path, clock=clock)


@dataclass
class Try:
    """One physical attempt as the world sees it."""

    scope: AttemptScope | None
    fate: str | None = None
    effect_ns: int | None = None
    refused_for_good: bool = False

    @property
    def under_way(self) -> bool:
        """Whether the agent may still send it, or somebody waits for its answer."""
        return self.scope is not None


@dataclass
class Order:
    """One logical call as the world sees it; `scope` is gone with the process that held it."""

    tool: str
    scope: CallScope | None
    id: str
    tries: list[Try] = field(default_factory=list)
    heard: str | None = None
    """How the latest attempt ended, as the agent saw it."""
    story: list[str] = field(default_factory=list)
    held: bool = False
    stopped: bool = False
    told: str | None = None

    @property
    def writes(self) -> bool:
        """Whether it is a call of a tool that may write."""
        return TOOLS[self.tool].side_effect is not SideEffect.READ

    def committed(self, now: int) -> bool:
        """Whether it took effect, in whole or in part."""
        return any(each.effect_ns is not None and each.effect_ns <= now for each in self.tries)

    def may_commit(self) -> bool:
        """Whether it took effect, will do so, or may do so since a request may still be sent."""
        return any(
            each.effect_ns is not None or (each.under_way and each.fate is None and not each.refused_for_good)
            for each in self.tries
        )


class Wire(SpanExporter):
    """Takes spans and holds them until somebody delivers them; `way` says how it stands with it.

    It is `open`, or `closed`, or it is `deaf`: spans get through, and that they did does not come back.
    """

    def __init__(self) -> None:
        self.way = "open"
        self.rows: list[dict[str, Any]] = []

    def export(self, spans: Any) -> SpanExportResult:
        """Take spans as the collector would decode them."""
        if self.way != "closed":
            self.rows += rows_of_request(encode_spans(spans)).rows
        return SpanExportResult.SUCCESS if self.way == "open" else SpanExportResult.FAILURE


class World:
    """Time, the service, the agent's processes one after another, and the wire to the collector."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.now = MONDAY_NS
        self.ahead_ns = 0
        self.random = random.Random(seed)  # noqa: S311 -- only an order
        self.orders: list[Order] = []
        self.wire = Wire()
        self.lives = 0
        self.recorder: Recorder | None = None
        self._finding_ids = SeededIds("findings")
        self.start()

    # -- time and processes ----------------------------------------------------------------------------------------

    def tick(self, nanoseconds: int = TICK_NS) -> None:
        """Let time pass."""
        self.now += nanoseconds

    def start(self) -> None:
        """A process of the agent begins, and adopts what earlier ones left open."""
        self.lives += 1
        self.journal = Journal(self.folder)
        self.recorder = Recorder(
            exporter=self.wire,
            clock=lambda: self.now + self.ahead_ns,
            key=b"k",
            ids=SeededIds(f"life {self.lives}"),
            inline=True,
            journal=self.journal,
        )
        for definition in TOOLS.values():
            self.recorder.register(definition)
        self.run = self.recorder.run(f"task {self.lives}")
        once = threading.Event()
        once.set()
        setup._adopt_orphans(self.recorder, self.journal, once)  # noqa: SLF001 -- what a process does as it starts

    def crash(self) -> None:
        """The process is gone at once, and its memory with it; its journal's file stays, and the lock on it is let go."""
        left = {path: path.read_bytes() for path in self.folder.rglob("*.jsonl")}
        entries = [json.loads(line) for content in left.values() for line in content.splitlines()]
        self.journal.delivered(OpenAttempt(*entry).attempt_span_id for entry in entries if isinstance(entry, list))
        self.journal.close()
        for path, content in left.items():
            path.write_bytes(content)
        self.recorder = None
        for order in self.orders:
            order.scope = None
            for each in order.tries:
                each.scope = None

    def end(self) -> None:
        """The process ends as `setup.stop` lets it; its lock goes with it."""
        assert self.recorder is not None
        self.run.close()
        self.recorder.close()
        self.journal.close()
        self.crash()

    # -- the agent -------------------------------------------------------------------------------------------------

    def propose(self, tool: str) -> Order:
        """The model wants a tool to be called."""
        scope = self.run.call(tool, {"order": len(self.orders)})
        self.orders.append(Order(tool, scope, scope.id))
        return self.orders[-1]

    def gate(self, order: Order, kind: str, verdict: str, *, observed: bool = False) -> None:
        """A check answers; the agent obeys what is enforced."""
        assert order.scope is not None
        order.scope.gate(kind, verdict, observed=observed)
        order.story.append(f"{kind} {verdict}{' observed' if observed else ''}")
        if not observed and kind != "output_validation":
            order.held = verdict == "needs_approval"
            if verdict in {"deny", "skip"}:
                order.stopped = True
                self.close(order)

    def resume(self, order: Order) -> None:
        """Go on with a call that waited for somebody, in a span of its own."""
        held = order.scope
        assert held is not None
        held.close()
        order.scope = CallScope(self.run, order.tool, {"order": self.orders.index(order)}, continues=held)
        order.story.append("resumes")

    def begin(self, order: Order) -> Try:
        """Begin an attempt."""
        assert order.scope is not None
        order.tries.append(Try(order.scope.attempt()))
        order.story.append("begins")
        return order.tries[-1]

    def send(self, order: Order, attempt: Try, fate: str) -> None:
        """The request reaches the service."""
        if attempt.refused_for_good:
            fate = "refuses"
        attempt.fate = fate
        if fate in {"commits", "commits in part"}:
            attempt.effect_ns = self.now
        elif fate == "commits later":
            settles = TOOLS[order.tool].settle_after_s
            attempt.effect_ns = self.now + (DAY_NS if settles is None else int(settles * SECOND_NS))
        order.story.append(fate)

    def finish(self, order: Order, attempt: Try, end: str, *, plainly: bool) -> None:
        """The attempt ends for the agent, as far as this end is true; `plainly` says of a refusal only that it ended."""
        scope = attempt.scope
        assert scope is not None
        heard = self._heard(attempt, end)
        if heard == "never sent":
            scope.sent("no")
        if heard == "refused" and not plainly:
            scope.end("error", vendor_code="DECLINED")
        if heard == "gateway":
            scope.end("error", remote_status=502)
        error = _ERRORS.get(heard)
        if error is not None:
            scope.fail(error())
        scope.close()
        attempt.scope = None
        order.heard = heard if heard != "refused" or plainly else "refused in words"
        order.story.append(f"hears {order.heard}")

    def _heard(self, attempt: Try, end: str) -> str:
        done = attempt.effect_ns is not None and attempt.effect_ns <= self.now
        if end == "never sent":
            return end if attempt.fate is None else "reset"
        if attempt.fate is None and end in {"answer", "garbage", "gateway"}:
            return "reset"
        if end == "answer":
            if done:
                return "partly done" if attempt.fate == "commits in part" else "done"
            return "refused" if attempt.fate == "refuses" else "timeout"
        return end

    def cancel(self, order: Order) -> None:
        """Somebody calls it off: what has not begun never will, what runs goes on."""
        assert order.scope is not None
        order.scope.cancel()
        order.story.append("called off")
        if not order.tries:
            order.stopped = True
            self.close(order)

    def tell(self, order: Order, words: str) -> None:
        """The loop tells what came back, and ends the call."""
        scope, heard = order.scope, order.heard
        assert scope is not None
        order.told = words
        if heard in {"done", "partly done"}:
            status = {"done": "ok", "partly done": "partial"}[heard]
            if words != "nothing":
                scope.result({"state": "done"}, status={"cut": "cut_by_recording", "wire": "cut_on_wire"}.get(words, status))
        elif heard in {"refused", "refused in words"}:
            self._tell_refusal(scope, words, plainly=heard == "refused")
        elif heard == "garbage":
            scope.result(None, status="invalid")
        elif heard is not None:
            _tell_break(scope, words, heard)
        self.close(order)
        order.story.append(f"tells {words}")

    def _tell_refusal(self, scope: CallScope, words: str, *, plainly: bool) -> None:
        if words == "business":
            scope.result({"state": "declined"}, status="business_error")
        elif words == "envelope":
            scope.result({"status": "error", "error": "declined"})
        elif words != "nothing" or plainly:
            scope.result("declined", status="error")

    def close(self, order: Order) -> None:
        """End the logical call."""
        assert order.scope is not None
        order.scope.close()
        order.scope = None

    # -- the service, and those who ask it -------------------------------------------------------------------------

    def find_out(self, order: Order, row: dict[str, Any], how: str) -> None:
        """Somebody asks what became of it, and what the answer comes to is on its way."""
        asked = self.now
        self.tick()
        answer = StatusAnswer.STILL_UNKNOWN
        if order.committed(asked):
            answer = StatusAnswer.COMMITTED
        elif how == "refused for good":
            answer = StatusAnswer.NOT_COMMITTED
            for each in order.tries:
                each.refused_for_good, each.effect_ns = True, None
        elif how == "query":
            answer = StatusAnswer.NOT_FOUND
        judged = judge(answer, Attempted(row["last_ended_ns"], TOOLS[order.tool].settle_after_s), asked_ns=asked)
        order.story.append(f"found {judged.finding}, {answer}")
        finding = {"finding": judged.finding, "basis": judged.basis, "covers_until_ns": judged.covers_until_ns}
        record = Reconciliation(run_id=row["run_id"], call_id=order.id, tool=order.tool, method=Method.STATUS_QUERY, **finding)
        place = Place(self._finding_ids.trace_id(), self._finding_ids.span_id(), None, asked, self.now)
        self.wire.rows += rows_of_request(encode_spans([build_span(record, place, Resource({}))])).rows


_ERRORS: dict[str, type[BaseException]] = {
    "reset": ConnectionResetError,
    "never sent": ConnectionRefusedError,
    "timeout": TimeoutError,
    "cancel": asyncio.CancelledError,
}


def _tell_break(scope: CallScope, words: str, heard: str) -> None:
    """What a loop says where nothing came back: the error, nothing, or words in the tool's place."""
    if words in {"ok", "error", "business"}:
        scope.result("the tool did not answer", status={"business": "business_error"}.get(words, words))
    elif words != "nothing":
        scope.fail(_ERRORS.get(heard, ConnectionResetError)())
