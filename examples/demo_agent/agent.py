"""The agent: a hand-written loop around a scripted model. Each step is a decision; its calls are proposed inside it."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch import Crashed, Dispatcher
from plan import Case
from script import Result, Turn

from toolwitness.sdk import Recorder
from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.scopes import RunScope

AGENT, MODEL, PROVIDER = "support-desk", "scripted-1", "demo"
_MODEL_MS = 1400


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent with the recorder that watches it."""

    recorder: Recorder
    dispatcher: Dispatcher

    async def work(self, case: Case) -> None:
        """One run, from the user's message to its end; a crash leaves it open, as a process that is gone would."""
        time = self.dispatcher.time
        time.begin(int(case.start.timestamp()) * 1_000_000_000)
        time.seed(case.id)
        self.dispatcher.service.reset()
        task = case.task
        labels = {"data": "demo"}
        run = self.recorder.run(task.name, id=case.id, agent=AGENT, category=task.category, trial=case.count, labels=labels)
        run.message("user", task.message(case.number))
        try:
            outcome = await self._converse(run, case)
        except Crashed:
            return
        if outcome is not None:
            run.finish(outcome, source="verifier")
        run.close()

    async def _converse(self, run: RunScope, case: Case) -> str | None:
        """Step by step until the script ends, which says the outcome."""
        script, number = case.task.play(case.number), 0
        results: list[Result] | None = None
        while True:
            try:
                turn = next(script) if results is None else script.send(results)
            except StopIteration as end:
                return end.value
            number += 1
            self.dispatcher.time.seed(f"{case.id}/{number}")
            calls = self._decide(run, turn)
            results = [await self.dispatcher.execute(call, use) for call, use in zip(calls, turn.uses, strict=True)]

    def _decide(self, run: RunScope, turn: Turn) -> list[CallScope]:
        """The model's step: what it was shown, what was kept from it, and the calls that it proposes."""
        define = self.dispatcher.definition
        tools = [define(identity) for identity in turn.tools]
        hidden = [define(identity) for identity, _ in turn.removed]
        removals = [(*identity.split("/"), reason) for identity, reason in turn.removed]
        step = run.decision(
            MODEL,
            provider=PROVIDER,
            tools=tools,
            candidates=[*tools, *hidden] if hidden else None,
            removals=removals,
            exposure=turn.exposure,
        )
        with step:
            self.dispatcher.time.pass_ms(_MODEL_MS)
            if turn.say:
                step.answer(turn.say)
            if turn.finish:
                step.finish(turn.finish)
            return [
                step.call(definition.name, use.arguments, server=definition.server, definition=definition, id=f"call_{n}")
                for n, use in enumerate(turn.uses, start=1)
                for definition in [define(use.tool)]
            ]
