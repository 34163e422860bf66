"""Whole processes: how they end with every kind of collector, forks, and what a crash leaves behind."""

import json
import os
import subprocess
import sys
import textwrap
import time

import pytest

from toolwitness.collector.store.store import Store

EXIT_LIMIT_S = 3.0  # two seconds of ours, and what ending Python takes on a busy machine


def run_agent(code, *, tmp_path, **environment):
    """Run an agent script that may print when its own work ended; its output, errors and the seconds it took to end."""
    script = "import toolwitness\n" + textwrap.dedent(code)
    environ = {**os.environ, "TOOLWITNESS_STATE_DIR": str(tmp_path / "state"), **environment}
    environ.pop("PYTEST_CURRENT_TEST", None)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=environ, cwd=tmp_path, check=False
    )
    end = time.monotonic()
    done.stdout, _, worked_until = done.stdout.partition("worked until ")
    return done, end - float(worked_until or end)


AGENT = """
    import sys, time
    toolwitness.instrument()
    @toolwitness.tool(side_effect="write")
    def pay(amount): return {"ok": True}
    with toolwitness.run(task="t") as run, toolwitness.decision() as step:
        print(pay(5))
    print("worked until", time.monotonic())
    sys.exit(7)
"""


def test_a_healthy_collector_gets_everything(tmp_path, collector):
    """A script that ends at once delivers all its spans."""
    server = collector()
    done, _ = run_agent(AGENT, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url)

    assert (done.returncode, done.stdout, done.stderr) == (7, "{'ok': True}\n", "")
    assert sorted(n.split()[0] for n in server.names()) == ["attempt", "attempt_start", "chat", "execute_tool", "invoke_agent"]


@pytest.mark.parametrize("how", [{"status": 500}, {"status": 503}, {"delay": 30.0}], ids=["500", "503", "slow"])
def test_a_sick_collector_neither_changes_nor_holds_up_the_agent(tmp_path, collector, how):
    """Output and exit code are the bare agent's, and the end comes within two seconds."""
    done, seconds = run_agent(AGENT, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=collector(**how).url)

    assert (done.returncode, done.stdout) == (7, "{'ok': True}\n")
    assert len(done.stderr.splitlines()) <= 1
    assert seconds < EXIT_LIMIT_S


def test_a_dead_collector_is_one_warning(tmp_path):
    """Nobody listens: one line on stderr says so, and nothing else changes."""
    done, seconds = run_agent(AGENT, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT="http://127.0.0.1:9")

    assert (done.returncode, done.stdout) == (7, "{'ok': True}\n")
    assert len(done.stderr.splitlines()) == 1
    assert "toolwitness up" in done.stderr
    assert seconds < EXIT_LIMIT_S


def test_the_application_s_vendor_keys_stay_with_the_vendor(tmp_path, collector):
    """Headers meant for another collector are not sent to ours, and our own are."""
    server = collector()
    run_agent(
        AGENT,
        tmp_path=tmp_path,
        TOOLWITNESS_ENDPOINT=server.url,
        TOOLWITNESS_HEADERS="x-team=desk",
        OTEL_EXPORTER_OTLP_HEADERS="api-key=vendor",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
    )
    seen = {key.lower(): value for headers in server.headers_seen for key, value in headers.items()}

    assert seen["x-team"] == "desk"
    assert "api-key" not in seen


def test_opentelemetry_s_off_switch_is_honoured(tmp_path, collector):
    """With OTEL_SDK_DISABLED nothing is recorded."""
    server = collector()
    done, _ = run_agent(AGENT, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url, OTEL_SDK_DISABLED="true")

    assert (done.stdout, server.spans) == ("{'ok': True}\n", [])


def test_forked_children_deliver(tmp_path, collector):
    """Children of `os.fork` and of `multiprocessing` send their spans, and the parent its own."""
    server = collector()
    done, _ = run_agent(
        """
        import multiprocessing, os
        toolwitness.instrument()
        @toolwitness.tool(side_effect="read")
        def parent(): return 1
        @toolwitness.tool(side_effect="read")
        def forked(): return 2
        @toolwitness.tool(side_effect="read")
        def spawned(): return 3
        if __name__ == "__main__":
            parent()
            assert toolwitness.flush(10)
            pid = os.fork()
            if pid == 0:
                forked()
                assert toolwitness.flush(10)
                os._exit(0)
            os.waitpid(pid, 0)
            child = multiprocessing.get_context("fork").Process(target=spawned)
            child.start()
            child.join()
            assert child.exitcode == 0
        """,
        tmp_path=tmp_path,
        TOOLWITNESS_ENDPOINT=server.url,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(n for n in server.names() if n.startswith("execute")) == [
        "execute_tool forked",
        "execute_tool parent",
        "execute_tool spawned",
    ]


PATIENT = {"TOOLWITNESS_EXIT_TIMEOUT": "20", "TOOLWITNESS_EXPORT_TIMEOUT": "20"}  # on a busy machine
KILLED = """
    import os, signal
    from toolwitness.sdk.state import Journal
    def die(*_): os.kill(os.getpid(), signal.SIGKILL)
    toolwitness.instrument({how})
    @toolwitness.tool(side_effect="write")
    def pay(amount):
        {inside}
        return {{"ok": True}}
    pay(5)
    {after}
"""


def kill(tmp_path, *, how="", inside="pass", after="", **environment):
    """An agent that pays and is killed at the given place."""
    done, _ = run_agent(KILLED.format(how=how, inside=inside, after=after), tmp_path=tmp_path, **{**PATIENT, **environment})
    return done


def take_over(tmp_path, how="", **environment):
    """A later process, which ends once it has told what others left open."""
    code = f"from toolwitness.sdk import setup; toolwitness.instrument({how}); setup._Active.adopting.join(30)"
    return run_agent(code, tmp_path=tmp_path, **PATIENT, **environment)[0]


def journals(tmp_path):
    """The journals that there are."""
    return list((tmp_path / "state" / "journal").rglob("*.*"))


def told(span):
    """The texts that a span says."""
    return {one.key: one.value.string_value for one in span.attributes}


def test_a_killed_process_leaves_its_open_write_to_the_next(tmp_path, collector):
    """An attempt that was running at kill -9 is shipped by a later process to the same collector, as ended by the death."""
    server = collector()
    killed = kill(tmp_path, inside="die()", TOOLWITNESS_ENDPOINT=server.url)
    elsewhere = take_over(tmp_path, TOOLWITNESS_ENDPOINT=collector().url)
    before_ns = time.time_ns()
    done = take_over(tmp_path, TOOLWITNESS_ENDPOINT=f"{server.url}/")

    assert (killed.returncode, elsewhere.returncode, done.returncode) == (-9, 0, 0)
    assert server.names() == ["attempt_start 1", "attempt 1"]
    started, ended = server.spans
    assert (told(started)["gen_ai.tool.name"], told(ended)["error.type"]) == ("pay", "ProcessDied")
    assert ended.start_time_unix_nano == started.start_time_unix_nano < before_ns < ended.end_time_unix_nano
    assert journals(tmp_path) == []


@pytest.mark.parametrize("after", ["toolwitness.flush(20); die()", ""], ids=["killed", "ended"])
def test_what_a_dead_collector_did_not_take_is_told_by_the_next_process(tmp_path, collector, after):
    """A payment that went well but was never delivered is an unknown one, also after a normal end; never nothing at all."""
    server = collector(status=503)
    kill(tmp_path, after=after, TOOLWITNESS_ENDPOINT=server.url)
    run_agent("toolwitness.instrument()", tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url)
    kept = len(journals(tmp_path))
    server.status = 200
    take_over(tmp_path, TOOLWITNESS_ENDPOINT=server.url)

    assert kept == 1
    assert server.names() == ["attempt_start 1", "attempt 1"]
    assert told(server.spans[1])["error.type"] == "ProcessDied"
    assert journals(tmp_path) == []


def test_a_collector_that_comes_back_is_told_by_the_process_that_took_over(tmp_path, collector):
    """What it took over is not for a later process alone: it delivers it when it can."""
    server = collector(status=503)
    kill(tmp_path, inside="die()", TOOLWITNESS_ENDPOINT=server.url)
    environ = {**os.environ, "TOOLWITNESS_STATE_DIR": str(tmp_path / "state"), "TOOLWITNESS_ENDPOINT": server.url}
    environ |= PATIENT
    code = "import sys, toolwitness; toolwitness.instrument(); sys.stdin.readline()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=environ, cwd=tmp_path) as living:
        while not server.headers_seen:
            time.sleep(0.01)
        server.status = 200
        while not server.spans:
            time.sleep(0.01)
        living.stdin.close()

    assert server.names() == ["attempt_start 1", "attempt 1"]
    assert journals(tmp_path) == []


def test_what_was_delivered_before_the_crash_is_not_told_again(tmp_path, collector):
    """The journal says that it was, so the next process has only a file to remove."""
    server = collector()
    kill(tmp_path, after="toolwitness.flush(20); die()", TOOLWITNESS_ENDPOINT=server.url)
    names = server.names()
    left = len(journals(tmp_path))
    take_over(tmp_path, TOOLWITNESS_ENDPOINT=server.url)

    assert (left, len(names), server.names()) == (1, 3, names)
    assert journals(tmp_path) == []


@pytest.mark.parametrize(
    ("where", "outcome"),
    [
        ({"inside": "die()"}, "unknown_commit"),
        ({"after": "die()"}, "unknown_commit"),
        ({"after": "Journal.delivered = die; toolwitness.flush(20)"}, "succeeded"),
        ({"after": "toolwitness.flush(20); die()"}, "succeeded"),
    ],
    ids=["running", "undelivered", "delivered, not noted", "noted"],
)
def test_wherever_a_process_is_killed_its_payment_is_known(tmp_path, where, outcome):
    """Once a later process started, the file has the call: as it went where that was delivered, else as an unknown commit."""
    killed = kill(tmp_path, how="db='a.duckdb', export_interval_s=0.5", **where)
    take_over(tmp_path, "db='a.duckdb'")
    store = Store.open(tmp_path / "a.duckdb", read_only=True)
    found = store.read(lambda cursor: cursor.sql("select tool, outcome, attempts from calls").fetchall())
    store.close()

    assert killed.returncode == -9
    assert found == [("pay", outcome, 1)]
    assert journals(tmp_path) == []


@pytest.mark.parametrize(("payments", "status"), [(1, 200), (500, 200), (500, 503)])
def test_of_many_payments_none_is_lost_in_a_crash(tmp_path, collector, payments, status):
    """A process that pays again and again is killed while it delivers, or tries to: of every payment an attempt is known."""
    server, bank = collector(status=status), tmp_path / "bank"
    bank.touch()
    code = (
        "import time, toolwitness; toolwitness.instrument(export_interval_s=0.01); bank = open('bank', 'a', buffering=1)\n"
        "@toolwitness.tool(side_effect='write')\n"
        "def pay(): print('paid', file=bank); time.sleep(0.001)\n"
        "while True: pay()"
    )
    environ = {**os.environ, "TOOLWITNESS_STATE_DIR": str(tmp_path / "state"), "TOOLWITNESS_ENDPOINT": server.url}
    with subprocess.Popen([sys.executable, "-c", code], env=environ, cwd=tmp_path) as paying:
        while bank.stat().st_size < payments * len("paid\n") or (payments > 1 and len(server.headers_seen) < 3):
            time.sleep(0.001)
        paying.kill()
    server.status = 200
    take_over(tmp_path, TOOLWITNESS_ENDPOINT=server.url)
    paid = len(bank.read_text().splitlines())
    known = {span.span_id for span in server.spans if span.name == "attempt 1"}

    assert paid <= len(known) <= paid + 1
    assert journals(tmp_path) == []


def test_a_note_that_was_dropped_leaves_its_attempt_open(tmp_path, collector):
    """A full queue is no proof that nothing happened: the next process tells of the attempt."""
    server = collector()
    run_agent(AGENT, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url, TOOLWITNESS_QUEUE_BYTES="1")
    names = server.names()
    take_over(tmp_path, TOOLWITNESS_ENDPOINT=server.url)

    assert (names, server.names()) == ([], ["attempt_start 1", "attempt 1"])


def test_an_attempt_that_outlives_the_recording_is_left_to_a_later_process(tmp_path, collector):
    """What still runs in a thread at the end, nobody waits for; while its process lives nobody takes it over either."""
    server = collector()
    code = """
        import threading
        begun, until = threading.Event(), threading.Event()
        toolwitness.instrument()
        @toolwitness.tool(side_effect="write")
        def pay(): begun.set(); until.wait()
        threading.Thread(target=pay, daemon=True).start()
        begun.wait()
        toolwitness.uninstrument()
        toolwitness.instrument()
        toolwitness.uninstrument()
    """
    run_agent(code, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url, **PATIENT)
    names = server.names()
    take_over(tmp_path, TOOLWITNESS_ENDPOINT=server.url)

    assert (names, server.names()) == (["attempt_start 1"], ["attempt_start 1", "attempt_start 1", "attempt 1"])


def test_more_than_the_outbox_holds_is_taken_over_in_portions(tmp_path, collector):
    """However much was left open, all of it arrives."""
    server = collector()
    code = """
        import os
        from pathlib import Path
        from toolwitness.sdk.state import Journal, OpenAttempt
        journal = Journal(Path("state"), os.environ["TOOLWITNESS_ENDPOINT"])
        for number in range(1, 12_001):
            journal.started(OpenAttempt("c", "r", "1" * 32, f"{number:016x}", f"{number:015x}f", 1, "", "pay", number))
        os._exit(0)
    """
    run_agent(code, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url)
    take_over(tmp_path, TOOLWITNESS_ENDPOINT=server.url)

    assert len({span.span_id for span in server.spans if span.name == "attempt 1"}) == 12_000
    assert journals(tmp_path) == []


def test_a_clean_end_leaves_no_journal(tmp_path, collector):
    """After everything was delivered nothing is left to adopt."""
    run_agent(AGENT, tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=collector().url)

    assert journals(tmp_path) == []


def test_the_application_s_own_traces_stay_as_they_were(tmp_path, collector):
    """With a provider of its own, the application's spans keep parents, sampling and exporter; ours share the trace id."""
    server = collector()
    code = """
        import json
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        memory = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(memory))
        trace.set_tracer_provider(provider)
        tracer = trace.get_tracer("app")
        {instrument}
        @toolwitness.tool(side_effect="read")
        def look():
            with tracer.start_as_current_span("inner"): pass
        with tracer.start_as_current_span("outer"):
            look()
        names = {{s.context.span_id: s.name for s in memory.get_finished_spans()}}
        spans = memory.get_finished_spans()
        print(json.dumps([(s.name, s.parent and names[s.parent.span_id], len(s.attributes)) for s in spans]))
    """
    with_us, _ = run_agent(
        code.format(instrument="toolwitness.instrument()"), tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=server.url
    )
    bare, _ = run_agent(code.format(instrument=""), tmp_path=tmp_path)

    assert json.loads(bare.stdout) == json.loads(with_us.stdout) == [["inner", "outer", 0], ["outer", None, 0]]
    assert "execute_tool look" in server.names()


@pytest.mark.parametrize("how", [{"status": 200}, {"status": 503}], ids=["healthy", "sick"])
def test_the_application_s_random_numbers_are_those_it_would_have(tmp_path, collector, how):
    """An application that seeds `random` gets the same numbers while spans are sent; the standard client draws from it."""
    drawing = """
        import random
        random.seed(7)
        first = random.random()
        for _ in range(3):
            with toolwitness.call("look"):
                pass
            toolwitness.flush(10)
        print(first, random.random())
    """
    url = collector(**how).url
    bare, _ = run_agent(drawing, tmp_path=tmp_path)
    recorded, _ = run_agent(
        "toolwitness.instrument()\n" + textwrap.dedent(drawing), tmp_path=tmp_path, TOOLWITNESS_ENDPOINT=url
    )

    assert recorded.stdout == bare.stdout != ""


def test_a_forked_child_of_a_process_that_writes_the_file_ends_as_it_would(tmp_path):
    """The database is the parent's: the child neither ends by a signal nor writes, and says so once where it records."""
    forking = """
        import os, sys
        toolwitness.instrument(db="runs.duckdb")
        sys.stdout.flush()
        for records in (False, True):
            child = os.fork()
            if not child:
                if records:
                    toolwitness.call("look").close()
                sys.exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        toolwitness.call("look").close()
    """
    done, _ = run_agent(forking, tmp_path=tmp_path)

    assert (done.returncode, done.stdout.split()) == (0, ["5", "5"])
    assert done.stderr.count("toolwitness up") == len(done.stderr.splitlines()) == 1
