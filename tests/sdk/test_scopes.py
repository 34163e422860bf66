"""What an agent loop tells, as records."""

import asyncio
import contextvars
import json

import pytest

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import (
    AttemptStatus,
    DecisionFinish,
    Exposure,
    GateMode,
    Known,
    ObservationStatus,
    OutcomeSource,
    PrivacyClass,
    RunOutcome,
    SideEffect,
    Verdict,
)
from toolwitness.sdk.guard import swallowing
from toolwitness.sdk.scope import NO_SCOPE

PAY = ToolDefinition(
    name="pay",
    server="bank",
    input_schema={"type": "object", "properties": {"amount": {"type": "integer"}}},
    side_effect=SideEffect.WRITE,
    classes={"args.amount": PrivacyClass.INTERNAL, "result.state": PrivacyClass.PUBLIC},
)


def test_a_run_carries_its_task_and_outcome(recorded):
    """Task, agent and outcome with its source are on the run's span."""
    with recorded.recorder.run("t-1", agent="desk", trial=2) as run:
        run.finish("success", source="reward", reward=1.0)

    found = recorded.one("run")

    assert (found.task, found.agent, found.trial) == ("t-1", "desk", 2)
    assert (found.run_outcome, found.outcome_source, found.reward) == (RunOutcome.SUCCESS, OutcomeSource.REWARD, 1.0)


def test_a_run_that_is_not_told_stays_unknown(recorded):
    """Ending without an outcome is neither success nor failure."""
    with recorded.recorder.run("t-1"):
        pass

    assert recorded.one("run").run_outcome is RunOutcome.UNKNOWN


@pytest.mark.parametrize(
    ("error", "outcome"), [(KeyError("k"), RunOutcome.FAILURE), (asyncio.CancelledError(), RunOutcome.ABANDONED)]
)
def test_a_run_that_raises_did_not_succeed(recorded, error, outcome):
    """An exception passes through as it is; the run is a failure, or abandoned where it was cancelled."""
    with pytest.raises(type(error)) as seen, recorded.recorder.run("t-1"):
        raise error

    assert seen.value is error
    assert recorded.one("run").run_outcome is outcome


def test_parents_and_links(recorded):
    """Run is the parent of decision and call, call of gate and attempt; the call links to its decision."""
    with recorded.recorder.run("t") as run:
        with run.decision("m") as step:
            call = step.call("pay", {"amount": 5}, server="bank")
        with call:
            call.gate("policy", "allow")
            with call.attempt():
                pass
    by_kind = {span.attributes["toolwitness.record"]: span for span in recorded.spans()}
    parents = {kind: span.parent and f"{span.parent.span_id:016x}" for kind, span in by_kind.items()}

    assert parents["run"] is None
    assert parents["decision"] == parents["call"] == run.span_id
    assert parents["gate"] == parents["attempt"] == call.id
    assert [f"{link.context.span_id:016x}" for link in by_kind["call"].links] == [step.id]
    assert {span.context.trace_id for span in by_kind.values()} == {by_kind["run"].context.trace_id}


def test_a_denied_call_has_gates_and_no_attempt(recorded):
    """A call stopped by a gate is recorded with the gate alone."""
    with recorded.recorder.run("t") as run, run.call("pay", {"amount": 5}) as call:
        call.gate("authorization", "deny", reason="not_owner", rule="r7", contract="policy")

    assert recorded.one("gate").verdict is Verdict.DENY
    assert recorded.records("attempt") == []
    assert recorded.one("call").observation is ObservationStatus.NONE


def test_an_observed_gate_says_so(recorded):
    """A check that could not have stopped the call is marked."""
    with recorded.recorder.run("t") as run, run.call("pay") as call:
        call.gate("input_validation", "deny", observed=True, pointers=["/amount"], keywords=["type"])

    gate = recorded.one("gate")

    assert (gate.gate_mode, gate.pointers, gate.keywords) == (GateMode.OBSERVED, ("/amount",), ("type",))


def test_an_approver_is_a_pseudonym(recorded):
    """Who approved leaves the process as a keyed digest only."""
    with recorded.recorder.run("t") as run, run.call("pay") as call:
        call.gate("confirmation", "allow", approver="jo@example.org")

    assert recorded.one("gate").approver.startswith("person-")
    assert "jo@" not in recorded.one("gate").approver


def test_retries_are_attempts_of_one_call(recorded):
    """Two tries are two ordinals under one call id."""
    with recorded.recorder.run("t") as run, run.call("pay") as call:
        with pytest.raises(TimeoutError), call.attempt():
            raise TimeoutError
        with call.attempt(retry_reason="timeout", backoff_ms=50.0):
            pass
        call.result({"state": "ok"})

    first, second = recorded.records("attempt")

    assert [(a.attempt_ordinal, a.attempt_status) for a in (first, second)] == [
        (1, AttemptStatus.TIMEOUT),
        (2, AttemptStatus.OK),
    ]
    assert len({first.call_id, second.call_id, recorded.one("call").call_id}) == 1


def test_an_attempt_that_may_write_is_announced(recorded):
    """Before a writing attempt ends there is a span that says it began; reading ones have none."""
    with recorded.recorder.run("t") as run:
        with run.call("pay", server="bank", definition=PAY) as call:
            attempt = call.attempt()
            assert recorded.one("attempt_start").attempt_ordinal == 1
            assert f"{recorded.spans()[-1].parent.span_id:016x}" == attempt.span_id
            attempt.close()
        reader = ToolDefinition(name="look", side_effect=SideEffect.READ)
        with run.call("look", definition=reader) as call, call.attempt():
            pass

    assert len(recorded.records("attempt_start")) == 1


def test_declared_fields_stay_readable_and_others_leave_their_shape(recorded):
    """Of arguments and results only what has a class that may be shown is text."""
    arguments = {"amount": 5, "note": "for Jo"}
    with recorded.recorder.run("t") as run, run.decision(tools=[PAY]) as step, step.call("pay", arguments) as call:
        call.result({"state": "done", "ref": "R-77-secret"})

    found = recorded.one("call")

    assert json.loads(found.arguments)["amount"] == 5
    assert json.loads(found.result)["state"] == "done"
    assert "Jo" not in found.arguments
    assert "R-77" not in found.result


def test_the_toolset_is_sent_with_its_first_use_only(recorded):
    """Toolset and definitions travel once, decisions name their digest."""
    with recorded.recorder.run("t") as run:
        for _ in range(3):
            with run.decision(tools=[PAY, {"name": "look", "input_schema": {}}]):
                pass

    assert len(recorded.records("toolset")) == 1
    assert {schema.tool for schema in recorded.records("schema")} == {"pay", "look"}
    assert {d.toolset_digest for d in recorded.records("decision")} == {recorded.one("toolset").toolset_digest}


def test_definitions_are_sent_again_after_ten_minutes(recorded):
    """A collector that lost them learns them again."""
    with recorded.recorder.run("t") as run:
        for _ in range(2):
            with run.decision(tools=[PAY]):
                recorded.clock.tick(601 * 1_000_000_000)

    assert len(recorded.records("toolset")) == 2


def test_visibility_is_unknown_where_no_tools_are_told(recorded):
    """Not told is not the same as none."""
    with recorded.recorder.run("t") as run:
        with run.decision() as step, step.call("pay"):
            pass
        with run.decision(tools=[]) as step, step.call("pay"):
            pass

    unknown, none = recorded.records("decision")
    first, second = recorded.records("call")

    assert (unknown.visibility, none.visibility) == (Known.UNKNOWN, Known.YES)
    assert (first.visible, first.registered) == (Known.UNKNOWN, Known.UNKNOWN)
    assert (second.visible, second.registered) == (Known.NO, Known.NO)


def test_a_tool_object_that_cannot_be_read_leaves_visibility_unknown(recorded):
    """What the model saw is not claimed to be known when part of it is not."""
    with recorded.recorder.run("t") as run, run.decision(tools=[PAY, object()]):
        pass

    assert recorded.one("decision").visibility is Known.UNKNOWN


def test_a_name_without_server_resolves_where_it_is_the_only_one(recorded):
    """Models give no server; the only visible tool of that name is meant."""
    with recorded.recorder.run("t") as run, run.decision(tools=[PAY]) as step, step.call("pay"):
        pass

    found = recorded.one("call")

    assert (found.server, found.visible, found.schema_digest) == ("bank", Known.YES, PAY.schema_digest)


def test_a_model_s_invented_tool_name_is_kept_out(recorded):
    """A name that is no catalog's and no name is replaced."""
    with recorded.recorder.run("t") as run, run.decision(tools=[PAY]) as step, step.call("pay bob@example.org 50 EUR!"):
        pass

    assert recorded.one("call").tool == "(unregistered)"
    assert not any("bob" in span.name for span in recorded.spans())


def test_how_a_step_ended(recorded):
    """Called, answered, failed or not known, in this order of proof."""
    with recorded.recorder.run("t") as run:
        with run.decision() as step:
            step.answer("let me look")
            step.call("look").close()
        with run.decision() as step:
            step.answer("done")
        with run.decision():
            pass
        with run.decision() as step:
            step.finish("asked_user")
        with pytest.raises(OSError, match="down"), run.decision():
            raise OSError("down")

    assert [d.finish for d in recorded.records("decision")] == [
        DecisionFinish.CALLED,
        DecisionFinish.ANSWERED,
        DecisionFinish.UNKNOWN,
        DecisionFinish.ASKED_USER,
        DecisionFinish.FAILED,
    ]


def test_a_search_tells_its_hits(recorded):
    """A call that searched for tools keeps the hits in order, and not its query's words."""
    with recorded.recorder.run("t") as run, run.decision(exposure="tool_search") as step, step.call("route") as call:
        call.discovered([("maps", "route"), ("bank", "pay")], query="pay Jo Smith")

    found = recorded.one("call")

    assert [(hit.server, hit.tool) for hit in found.discovery_hits] == [("maps", "route"), ("bank", "pay")]
    assert "Smith" not in found.discovery_query
    assert recorded.one("decision").exposure is Exposure.TOOL_SEARCH


def test_where_arguments_came_from_and_what_was_used_again(recorded):
    """Origins are on the call, uses on the consumer, and no value leaves."""
    with recorded.recorder.run("t") as run:
        run.message("system", "You are a desk.")
        run.message("user", "What about order A-4711?")
        with run.decision() as step, step.call("look", {"order": "A-4711"}) as first:
            first.result({"ref": "REF-900", "state": "open"})
        with run.decision() as step:
            step.answer("I found REF-900.")
            with step.call("pay", {"ref": "REF-900", "amount": 12345}):
                pass

    look, pay = recorded.records("call")

    assert [(o.pointer, o.origin) for o in look.provenance] == [("/order", "user")]
    assert [(o.pointer, o.origin) for o in pay.provenance] == [("/ref", "tool"), ("/amount", "model")]
    assert look.novel_values == 2
    assert pay.argument_sources == (look.call_id,)
    assert recorded.records("decision")[1].answer_sources == (look.call_id,)
    assert not any("4711" in str(span.attributes) or "REF-9" in str(span.attributes) for span in recorded.spans())


def test_origins_are_unknown_without_the_texts(recorded):
    """Without what the model read, nothing is called the model's own."""
    with recorded.recorder.run("t") as run, run.call("pay", {"ref": "REF-900"}):
        pass

    assert [o.origin for o in recorded.one("call").provenance] == ["unknown"]


@pytest.mark.parametrize("status", [ObservationStatus.CUT_BY_RECORDING, ObservationStatus.CUT_ON_WIRE])
def test_a_cut_result_is_not_measurable(recorded, status):
    """Where text is missing, use is unknown, not zero."""
    with recorded.recorder.run("t") as run, run.call("look") as call:
        call.result("abcd", status=status)

    assert recorded.one("call").novel_values is None


def test_only_new_messages_are_read(recorded):
    """The growing history of a chat is told whole and read once."""
    history = [{"role": "user", "content": [{"type": "text", "text": "order A-4711"}]}]
    with recorded.recorder.run("t") as run:
        for _ in range(3):
            with run.decision(messages=history) as step, step.call("look", {"order": "A-4711"}):
                pass
            history.append({"role": "tool", "content": "nothing"})

    assert [c.provenance[0].origin for c in recorded.records("call")] == ["user"] * 3


def test_a_nested_run_is_part_of_the_outer(recorded):
    """A sub-agent without an id of its own shares the run, and its steps count on."""
    with recorded.recorder.run("t") as outer:
        with outer.decision():
            pass
        with recorded.recorder.run("sub") as inner, inner.decision():
            pass

    assert [d.decision_ordinal for d in recorded.records("decision")] == [1, 2]
    assert {r.run_id for r in recorded.records()} == {outer.id}
    assert recorded.one("run").task == "t"


def test_wrong_words_never_reach_the_agent(recorded):
    """A verdict or exposure that does not exist is our problem, outside of tests."""
    with swallowing(), recorded.recorder.run("t") as run:
        assert run.decision(exposure="sideways") is NO_SCOPE
        with run.call("pay") as call:
            call.gate("policy", "perhaps")

    assert recorded.records("gate") == []
    assert recorded.one("call").tool == "pay"


async def _one(run, name):
    async with run.decision(name) as step:
        await asyncio.sleep(0)
        async with step.call(name) as call, call.attempt():
            await asyncio.sleep(0)


def test_parallel_steps_keep_their_own_calls(recorded):
    """Tasks that run side by side do not take each other's scopes."""

    async def main():
        with recorded.recorder.run("t") as run:
            await asyncio.gather(*(_one(run, name) for name in ("a", "b", "c")))

    asyncio.run(main())
    decisions = {d.decision_id: d.model for d in recorded.records("decision")}

    assert {decisions[c.decision_id]: c.tool for c in recorded.records("call")} == {"a": "a", "b": "b", "c": "c"}


def test_the_same_seed_gives_the_same_spans(recorded):
    """With injected ids and clock two recordings are equal, attribute by attribute."""

    def record(target):
        with target.recorder.run("t") as run, run.decision("m", tools=[PAY]) as step, step.call("pay", {"amount": 1}) as call:
            with call.attempt():
                target.clock.tick(5)
            call.result({"state": "ok"})
        return [(s.name, s.context.span_id, s.start_time, s.end_time, dict(s.attributes)) for s in target.spans()]

    assert record(recorded) == record(type(recorded)())


def test_the_application_s_word_on_a_tool_joins_what_the_model_was_shown(recorded):
    """Classes and side effect of a decorated tool hold where the model is shown a plain schema, whose digest stays."""
    shown = {"name": "pay", "input_schema": {"type": "object", "properties": {"amount": {"type": "integer"}}}}
    own = ToolDefinition(name="pay", side_effect="write", classes={"args.amount": "internal"})
    recorded.recorder.register(own)
    with recorded.recorder.run("t") as run, run.decision(tools=[shown]) as step, step.call("pay", {"amount": 5}):
        pass

    found = recorded.one("call")

    assert (found.arguments, found.side_effect) == ('{"amount":5}', SideEffect.WRITE)
    assert found.schema_digest == PAY.schema_digest


def test_scopes_whose_tasks_start_each_other_do_not_pile_up(recorded):
    """Each knows those around it that go on; a chain of those that ended is let go."""
    inherited, runs = contextvars.copy_context(), []

    def turn():
        nonlocal inherited
        with recorded.recorder.run("turn") as run:
            inherited = contextvars.copy_context()
        runs.append(run)

    for _ in range(3):
        inherited.run(turn)

    assert [run.outer for run in runs] == [None] * 3


@pytest.mark.parametrize(("answers", "step"), [(True, None), (False, 1)], ids=["answered", "silent"])
def test_a_tool_that_no_model_chose_stands_in_no_step(recorded, answers, step):
    """What the application runs by itself after an answer in text is not selected; after a step that said nothing it may be."""
    with recorded.recorder.run("t"):
        with recorded.recorder.decision("m") as decision:
            if answers:
                decision.answer("It is done by somebody else.")
        recorded.recorder.call("pay").close()

    steps = {one.decision_id: one.decision_ordinal for one in recorded.records("decision")}
    assert steps.get(recorded.one("call").decision_id) == step
