import http.client
import json
import signal
import socket
import subprocess
import sys

import pytest

from toolwitness.collector.receive.serve import Collector, bind, serve
from toolwitness.collector.receive.server import build_app
from toolwitness.collector.store.owner import read_owner
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import SettingsError, StoreHeldError
from toolwitness.tests.collector.receive.otlp import calls

UP = """
import sys
from toolwitness.collector.receive.serve import Collector, serve
from toolwitness.collector.receive.server import build_app
collector = Collector(sys.argv[1])
serve(build_app(collector), collector, port=0, ready=lambda url: print(url, flush=True))
print("closed", collector.path.with_name(collector.path.name + ".owner.json").exists(), flush=True)
"""


@pytest.fixture(name="up")
def fixture_up(tmp_path):
    """`up()` -> (process, port) of a collector of its own process over the test's file; killed at the end."""
    processes = []

    def start():
        command = [sys.executable, "-c", UP, str(tmp_path / "spans.duckdb")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process, int(process.stdout.readline().rpartition(":")[2])

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def post(port, body):
    """Post protobuf spans; the receipt, once 200 has come."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 200
    return json.loads(answer.headers["toolwitness-receipt"])


def test_kill_9_after_a_200_loses_no_span_and_restart_needs_no_help(up, tmp_path):
    """The stale owner file and DuckDB's own log are left behind; the next start just works."""
    first = calls(20).SerializeToString()
    process, port = up()
    assert post(port, first)["stored"] == 40
    process.kill()
    process.wait()
    assert (tmp_path / "spans.duckdb.owner.json").exists()
    assert read_owner(tmp_path / "spans.duckdb") is None
    _, port = up()
    assert post(port, first)["duplicate"] == 40
    assert post(port, calls(1).SerializeToString())["stored"] == 2


def test_sigterm_is_a_clean_end(up, tmp_path):
    """Exit status 0, the code after `serve` runs, the owner file is gone and the file is free."""
    process, port = up()
    post(port, calls(1).SerializeToString())
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "closed False\n")
    Store.open(tmp_path / "spans.duckdb").close()


def test_ctrl_c_is_a_clean_end(up):
    """No traceback, exit status 0."""
    process, _ = up()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "closed False\n"
    assert process.returncode == 0


def test_a_port_taken_by_another_program_is_a_clear_error(tmp_path):
    """The message names the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"port {port} on 127.0.0.1 is taken by another program; .*another port"):
            bind(Collector(tmp_path / "spans.duckdb"), "127.0.0.1", port)


def test_a_port_taken_by_a_toolwitness_is_told_apart(live, tmp_path):
    """The same file: use that one. Another file: take another port."""
    with pytest.raises(SettingsError, match=rf"serves this very file; open {live.url}"):
        bind(Collector(live.collector.path), "127.0.0.1", live.port)
    with pytest.raises(SettingsError, match=r"serves another file, .*spans.duckdb; choose another port"):
        bind(Collector(tmp_path / "other.duckdb"), "127.0.0.1", live.port)


def test_a_host_that_is_not_this_machine_is_a_clear_error(tmp_path):
    """Neither an unknown name nor a foreign address can be listened on."""
    with pytest.raises(SettingsError, match="cannot listen on"):
        bind(Collector(tmp_path / "spans.duckdb"), "192.0.2.1", 0)


def test_all_interfaces_are_reached_by_the_loopback(tmp_path):
    """The URL that other processes are told can be asked."""
    collector = Collector(tmp_path / "spans.duckdb")
    with bind(collector, "0.0.0.0", 0) as listener:  # noqa: S104 -- what is tested
        assert collector.url == f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_held_file_is_the_stores_own_error(up, tmp_path):
    """It reaches the caller before anything listens for long, and names the process and its URL."""
    process, port = up()
    collector = Collector(tmp_path / "spans.duckdb")
    with pytest.raises(StoreHeldError, match=rf"process {process.pid}, which answers at http://127.0.0.1:{port}"):
        serve(build_app(collector), collector, port=0)


def test_a_collector_that_is_not_open_says_so(tmp_path):
    """Routes may be made before the lifespan, but not asked."""
    with pytest.raises(RuntimeError, match="not open"):
        _ = Collector(tmp_path / "spans.duckdb").store
