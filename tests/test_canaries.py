"""What an agent hands over and what strangers send: none of it is found anywhere afterwards.

A real agent records to a real collector, each in a process of its own, through a recorder of requests on the loopback.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import duckdb
import pytest

from toolwitness.tests.canaries import KEPT, RUN, everything, outside, send_agent

STARTED = re.compile(r"serves .* at http://(\S+):(\d+)")
WAIT_S = 60
PROTOBUF = {"Content-Type": "application/x-protobuf"}
COMMANDS = (["runs"], ["tools"], ["replay", RUN], ["ingest"])
"""Commands that read; each is asked for JSON and for what a person sees."""


class Relay(ThreadingHTTPServer):
    """Hands requests on to a collector and keeps their bodies."""

    def __init__(self, host, port):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.collector, self.bodies = (host, port), []

    @property
    def url(self):
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        status, content = ask(self.server.collector, self.path, body, {"Content-Type": self.headers["Content-Type"]})
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


def ask(address, path, body, headers):
    """Post to a collector; its status and answer."""
    connection = http.client.HTTPConnection(*address, timeout=WAIT_S)
    with contextlib.closing(connection):
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@contextlib.contextmanager
def collecting(db, log):
    """The address of `toolwitness up` on a file, for as long as the block runs."""
    command = [sys.executable, "-m", "toolwitness", "up", "--db", str(db), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=outside(), cwd=db.parent)
    try:
        started = STARTED.search(process.stdout.readline())
        yield started[1], int(started[2])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)


def run(*command):
    """What a command said, on both streams."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, env=outside(), timeout=2 * WAIT_S, check=False
    )
    return done.stdout + done.stderr


def told(db, folder):
    """What the command line tells of a file, by command."""
    known = run("-m", "toolwitness", "--help")
    said = {}
    for command in COMMANDS:
        if command[0].encode() in known:
            for form in ([], ["--json"]):
                said[" ".join([*command, *form])] = run("-m", "toolwitness", *command, "--db", db, *form)
    if b"export" in known:
        out = folder / "export.jsonl"
        said["export"] = run("-m", "toolwitness", "export", "--run", RUN, "--db", db, "--to", out) + out.read_bytes()
    return said


def rows(db):
    """Every row of every table, as text; bytes in the file may be compressed."""
    with duckdb.connect(str(db), read_only=True) as connection:
        tables = [name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()]
        return {
            name: json.dumps(connection.table(name).fetchall(), default=str, ensure_ascii=False).encode() for name in tables
        }


def files(folder):
    """The bytes of every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(name="aftermath", scope="module")
def fixture_aftermath(tmp_path_factory):
    """What is left by kind of place and name of the place, after an agent and strangers have sent everything."""
    folder = tmp_path_factory.mktemp("canaries")
    state = tmp_path_factory.mktemp("canary-state")
    db, log = folder / "canaries.duckdb", folder / "collector.log"
    _, request, strangers = everything()
    left = {}
    with pytest.MonkeyPatch.context() as patch, log.open("w") as stderr:
        patch.setenv("TOOLWITNESS_STATE_DIR", str(state))
        with collecting(db, stderr) as address:
            relay = Relay(*address)
            threading.Thread(target=relay.serve_forever).start()
            code, output = send_agent(relay.url)
            relay.shutdown()
            relay.server_close()
            assert ask(address, "/v1/traces", request.SerializeToString(), PROTOBUF)[0] == http.client.OK
            for path, media, body, headers in strangers:
                ask(address, path, body, {"Content-Type": media, **headers})
            left["requests"] = dict(enumerate(relay.bodies))
            left["commands beside a running collector"] = told(db, folder)
            left["files of a running collector"] = files(folder)
        left["commands"] = told(db, folder / "..")
        left["files"] = files(folder)
        left["state"] = files(state)
        left["rows"] = rows(db)
    assert code == 0, output.decode()
    left["the agent's output"] = {"both streams": output}
    return left


SINKS = (
    *("the agent's output", "requests", "rows", "files", "files of a running collector", "state"),
    *("commands", "commands beside a running collector"),
)


def test_there_are_enough_canaries():
    """At least 200 are planted, each at a place of its own and unlike all others."""
    planted = everything()[0].planted

    assert len(planted) == len(set(planted.values())) >= 200


@pytest.mark.parametrize("sink", SINKS)
def test_no_canary_is_left(aftermath, sink):
    """No bytes of the kind hold a text that was planted."""
    planted = everything()[0].planted

    assert [
        (place, name) for name, data in aftermath[sink].items() for place, text in planted.items() if text.encode() in data
    ] == []


@pytest.mark.parametrize("sink", ["requests", "rows", "files", "commands", "commands beside a running collector"])
def test_what_may_be_seen_is_there(aftermath, sink):
    """The search would have found something: the name of the task, which is kept, is in each of these."""
    assert any(KEPT.encode() in data for data in aftermath[sink].values())


def test_everything_arrived(aftermath):
    """The calls of the agent and the spans of the stranger are stored, so that there was something to leave out."""
    spans = json.loads(aftermath["rows"]["spans"])

    assert len([row for row in spans if RUN in row]) >= 20
    assert len(spans) - len([row for row in spans if RUN in row]) >= 2
