"""Idempotency keys: one a payment that is meant, whatever happens to telemetry or to the process."""

import asyncio
import contextlib
import threading

import pytest

import toolwitness
from toolwitness.model.enums import AttemptStatus, Known
from toolwitness.model.exceptions import IdempotencyConflictError, IdempotencyKeyError
from toolwitness.sdk import setup
from toolwitness.sdk.guard import swallowing
from toolwitness.tests.fakes import bank
from toolwitness.tests.fakes.bank import REFUSALS, LostError, losing, outcomes, paying, seen, send


@pytest.fixture(autouse=True)
def _fresh():
    bank.fresh()


@pytest.mark.usefixtures("telemetry")
def test_a_key_is_sixty_four_hex_digits_and_the_same_in_each_retry_of_a_call():
    """However often it is asked for, and whatever the attempts came to."""
    with toolwitness.run(id="r-1") as run, run.call("pay", {"amount": 5}, server="bank") as call:
        for _ in range(2):
            with contextlib.suppress(LostError), call.attempt():
                seen.append(call.idempotency_key)
                raise LostError
        assert {*seen} == {call.idempotency_key}
    assert len(seen[0]) == 64
    assert int(seen[0], 16)


@pytest.mark.usefixtures("telemetry")
def test_a_proposal_whose_twin_is_unsettled_shares_its_key():
    """What was lost may have taken effect, so that a repetition must be known for one."""
    with toolwitness.run(id="r-1"):
        assert losing(5) == losing(5) == paying(5)


@pytest.mark.usefixtures("telemetry")
def test_a_second_payment_that_is_meant_has_another_key():
    """Its twin was answered, so nobody repeats it by mistake."""
    with toolwitness.run(id="r-1"):
        keys = [paying(5), paying(5), losing(5), paying(5), paying(5)]
    assert len({*keys}) == 4
    assert keys[2] == keys[3]


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("answer", REFUSALS)
def test_an_answer_that_says_no_is_no_proof_that_nothing_happened(answer):
    """A tool that caught a time-out returns the same; another key would pay twice."""
    with toolwitness.run(id="r-1"):
        assert paying(5, answer) == paying(5)


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("answer", ["timed out", None, False])
def test_a_sentence_or_nothing_is_no_proof_of_a_payment(answer):
    """A tool that caught a time-out may return just that."""
    with toolwitness.run(id="r-1") as run:
        with run.call("pay", {"amount": 5}) as call, call.attempt():
            key = call.idempotency_key
            call.result(answer)
        assert run.call("pay", {"amount": 5}).idempotency_key == key


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("status", ["ok", "error", "business_error"])
def test_the_application_s_own_word_uses_a_key_up(status):
    """It knows what its sentence means; the next payment is another."""
    with toolwitness.run(id="r-1") as run:
        with run.call("pay", {"amount": 5}) as call, call.attempt():
            key = call.idempotency_key
            call.result("what the tool said", status=status)
        assert run.call("pay", {"amount": 5}).idempotency_key != key


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_settles_nothing_while_another_call_with_the_key_is_unsettled(answer):
    """The first may have taken effect; a new key would pay twice."""
    with toolwitness.run(id="r-1"):
        assert losing(5) == paying(5, answer) == paying(5) != paying(5)


@pytest.mark.usefixtures("telemetry")
def test_parallel_twins_share_unless_they_name_their_node():
    """Two equal proposals may be one by mistake; the application knows when they are not."""
    with toolwitness.run(id="r-1") as run:
        equal = [run.call("pay", {"amount": 5}) for _ in range(2)]
        named = [run.call("pay", {"amount": 5}, node=node) for node in ("a", "b", 1)]
        again = run.call("pay", {"amount": 5}, node="a")
        keys = [call.idempotency_key for call in (*equal, *named)]
    assert keys[0] == keys[1]
    assert len({*keys}) == 4
    assert again.idempotency_key == keys[2]
    assert (named[0].node, equal[0].node) == ("a", None)


@pytest.mark.usefixtures("telemetry")
def test_a_late_end_of_a_shared_key_uses_up_no_other():
    """Two calls share the first key; that both end well makes one payment."""
    with toolwitness.run(id="r-1") as run:
        slow, quick = (run.call("pay", {"amount": 5}) for _ in range(2))
        first = slow.idempotency_key, quick.idempotency_key
        with quick, quick.attempt():
            quick.result({"paid": True})
        lost = run.call("pay", {"amount": 5})
        second = lost.idempotency_key
        with pytest.raises(LostError), lost, lost.attempt():
            raise LostError
        with slow, slow.attempt():
            slow.result({"paid": True})
        third = run.call("pay", {"amount": 5}).idempotency_key
    assert first[0] == first[1] != second == third


@pytest.mark.usefixtures("telemetry")
def test_what_a_loop_says_in_the_place_of_a_denied_call_settles_nothing():
    """The first may have taken effect; nothing ran for the second."""
    with toolwitness.run(id="r-1") as run:
        first = losing_by_hand(run)
        with run.call("pay", {"amount": 5}) as denied:
            assert denied.idempotency_key == first
            denied.gate("confirmation", "deny")
            denied.result("the user said no")
        assert run.call("pay", {"amount": 5}).idempotency_key == first


def losing_by_hand(run):
    """A hand-written attempt that is lost."""
    with contextlib.suppress(LostError), run.call("pay", {"amount": 5}) as call, call.attempt():
        key = call.idempotency_key
        raise LostError
    return key


@pytest.mark.usefixtures("telemetry")
def test_a_call_that_is_answered_and_still_open_is_settled():
    """A model client's calls stay open until its next request."""
    with toolwitness.run(id="r-1") as run:
        first = run.call("pay", {"amount": 5})
        key = first.idempotency_key
        with first.attempt():
            pass
        assert run.call("pay", {"amount": 5}).idempotency_key == key
        first.result({"paid": True})
        assert run.call("pay", {"amount": 5}).idempotency_key != key


@pytest.mark.usefixtures("telemetry")
def test_calls_that_ask_for_no_key_count_for_nothing():
    """Nothing is kept of them."""
    with toolwitness.run(id="r-1") as run:
        with run.call("pay", {"amount": 5}) as call, call.attempt():
            call.result({"paid": True})
        key = run.call("pay", {"amount": 5}).idempotency_key
    with toolwitness.run(id="r-1") as run:
        assert run.call("pay", {"amount": 5}).idempotency_key == key


@pytest.mark.usefixtures("telemetry")
def test_a_run_goes_on_by_its_id_and_another_run_has_other_keys():
    """Without an id of the application's a run is one of its own each time."""
    keys = []
    for how in ({"id": "r-1"}, {"id": "r-1"}, {"id": "r-2"}, {}, {}):
        with toolwitness.run(**how):
            keys.append(losing(5))
    with toolwitness.run(id="r-1"), toolwitness.run():
        assert losing(5) == keys[0] == keys[1]
    assert len({*keys}) == 4


@pytest.mark.usefixtures("telemetry")
def test_outside_of_runs_a_key_is_that_of_one_call():
    """Nothing tells what belongs together."""
    assert losing(5) != losing(5)


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("kind", ["async", "generator", "method", "bound"])
def test_every_kind_of_tool_finds_its_call(kind):
    """The key is the same in each, for the same tool and arguments."""

    def key():
        return toolwitness.current_call().idempotency_key

    @toolwitness.tool(name="t")
    async def of_async(amount):
        await asyncio.sleep(0)
        return key(), amount

    @toolwitness.tool(name="t")
    def of_generator(amount):
        yield key(), amount

    class Desk:
        @toolwitness.tool(name="t")
        def of_method(self, amount):
            return key(), amount

    ways = {
        "async": lambda: asyncio.run(of_async(5)),
        "generator": lambda: next(of_generator(5)),
        "method": lambda: Desk().of_method(5),
        "bound": lambda: Desk().of_method(amount=5),
    }
    with toolwitness.run(id="r-1") as run:
        proposed = run.call("t", {"amount": 5}).idempotency_key
        assert ways[kind]() == (proposed, 5)


@pytest.mark.usefixtures("telemetry")
def test_in_a_decorated_tool_the_arguments_are_those_it_runs_with():
    """They are the same with and without a framework or a loop around it; a name that the loop uses makes no difference."""
    with toolwitness.run(id="r-1") as run, run.call("send", '{ "amount": 5.0, "note": "x" }'), contextlib.suppress(LostError):
        outcomes.append(LostError())
        send(amount=5)
    with toolwitness.run(id="r-1"):
        assert losing(5) == seen[0]


def test_only_digests_are_recorded(live, tmp_path):
    """On the call, its attempts and their announcement; the key itself stands in no span and in no file."""
    keys = []
    with toolwitness.run(id="r-1") as run:
        keys += [paying(5), run.call("pay", {"amount": 1}, idempotency_key="application-key").idempotency_key]
        with run.call("pay", {"amount": 2}) as call:
            keys.append(call.idempotency_key)
            with call.attempt():
                pass
    records = live()
    by_call = {}
    for record in records:
        if record.kind in {"call", "attempt", "attempt_start"}:
            by_call.setdefault(record.call_id, set()).add(record.key_digest)
    assert all(len(digests) == 1 and None not in digests for digests in by_call.values())
    assert len({*map(tuple, by_call.values())}) == 3
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [key for key in keys if key in repr(records) or any(key.encode() in text for text in written)]


def test_a_call_that_never_asks_has_no_digest(live):
    """Nothing was made."""
    with toolwitness.run() as run, run.call("pay", {"amount": 5}, node="n") as call, call.attempt():
        pass
    assert {record.key_digest for kind in ("call", "attempt", "attempt_start") for record in live(kind)} == {None}


@toolwitness.tool(side_effect="read")
def look(amount):
    """Ask for a key inside of what may be another call."""
    return toolwitness.current_call().idempotency_key, amount


@pytest.mark.usefixtures("telemetry")
def test_a_reading_tool_has_a_call_of_its_own_as_well():
    """Also inside of another tool, whose key it must not send along."""
    keys = []

    @toolwitness.tool(side_effect="write")
    def pay(amount):
        keys.extend((look(amount)[0], toolwitness.current_call().idempotency_key))

    with toolwitness.run(id="r-1"):
        pay(5)
        assert look(5) not in keys
    assert len({*keys}) == 2


def test_with_telemetry_off_nothing_is_kept_but_for_keys():
    """No thread, no file and no spans; tools, calls and conflicts go on."""
    threads = threading.enumerate()
    with toolwitness.run(id="r-1") as run, run.decision() as step, step.call("pay", {"amount": 5}) as call:
        with call.attempt():
            call.result({"paid": True})
        assert (toolwitness.current_call(), run.id, call.tool) == (call, "r-1", "pay")
    assert threading.enumerate() == threads
    assert list(setup.Settings.usable().state_dir.rglob("*")) == []


def story():
    """A run with everything in it; the keys, and what was raised."""
    told = []
    with toolwitness.run(id="r-story") as run:
        told += [losing(5), paying(5), paying(5), paying(6, REFUSALS[0]), paying(6)]
        with run.decision() as step, step.call("send", {"amount": 7}, node="n") as call:
            told.append(call.idempotency_key)
            send(7)
        for wrong in ({"amount": 8}, {"amount": object()}):
            try:
                told.append(step.call("send", wrong, node="n").idempotency_key)
            except (IdempotencyConflictError, IdempotencyKeyError) as error:
                told.append(str(error))
    return told


def test_keys_are_the_same_with_telemetry_on_off_and_broken(tmp_path, monkeypatch):
    """The same secret is all that they need."""
    monkeypatch.setenv("TOOLWITNESS_DIGEST_KEY", "one of the team's")
    told = []
    for way in ("off", "dead", "disabled", "unusable"):
        monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path / way))
        monkeypatch.setattr(setup._Active, "keys", None)  # noqa: SLF001 -- as in a new process
        monkeypatch.setattr(setup._Active, "silent", None)  # noqa: SLF001 -- as above
        with swallowing(), monkeypatch.context() as patch:
            if way == "disabled":
                patch.setenv("OTEL_SDK_DISABLED", "true")
            if way == "unusable":
                patch.setenv("TOOLWITNESS_QUEUE_BYTES", "many")
            if way != "off":
                toolwitness.instrument(endpoint="http://127.0.0.1:9", only=(), exit_timeout_s=0)
            told.append(story())
            toolwitness.uninstrument()
    assert told[0] == told[1] == told[2] == told[3]
    assert len({*told[0]}) == 6


def test_what_only_recording_saw_keeps_no_key_from_being_used_up(live):
    """A tool got over its request's failure and says that it paid: its next payment is another, as without recording."""
    with toolwitness.run(id="r-1") as run:
        with run.call("pay", {"amount": 5}) as call, call.attempt() as attempt:
            key = call.idempotency_key
            attempt.witness = lambda _: {"attempt_status": AttemptStatus.ERROR}
            call.result({"paid": True})
        assert run.call("pay", {"amount": 5}).idempotency_key != key
    assert [one.attempt_status for one in live("attempt")] == [AttemptStatus.ERROR]


def test_what_only_recording_saw_uses_up_no_key(live):
    """A watcher's proof that nothing was sent is the records', and the key is what it is without the watcher."""
    with toolwitness.run(id="r-1") as run:
        with contextlib.suppress(LostError), run.call("pay", {"amount": 5}) as call, call.attempt() as attempt:
            key = call.idempotency_key
            attempt.learn(sent=Known.NO)
            raise LostError
        assert run.call("pay", {"amount": 5}).idempotency_key == key
    assert [one.sent for one in live("attempt")] == [Known.NO]


@pytest.mark.usefixtures("telemetry")
def test_what_the_application_knows_was_not_sent_uses_up_its_key():
    """It is proven that nothing happened, and no other call has the key."""
    with toolwitness.run(id="r-1") as run:
        with contextlib.suppress(LostError), run.call("pay", {"amount": 5}) as call, call.attempt() as attempt:
            key = call.idempotency_key
            attempt.sent("no")
            raise LostError
        assert run.call("pay", {"amount": 5}).idempotency_key != key
