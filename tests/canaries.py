"""Canaries: made-up texts, one for each place at which an agent or its peers can hand something over that must not be kept.

Everything follows from the places' names, so that an agent in a process of its own plants what the test looks for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic import BaseModel, SecretStr

from toolwitness.model import names
from toolwitness.tests.collector.receive.otlp import add, pairs, value

KEPT = "kept-9f27-task"
"""A task's name, which the application sets on purpose and everybody may see."""
RUN = "canary-run"

SECRET = ("password", "apiKey", "access_token", "Authorization", "client_secret", "session_id", "cvv", "signing-key", "密码")
PERSONAL = ("email", "phoneNumber", "fullName", "homeAddress", "birthday", "passportNumber", "iban", "diagnosis", "手机号")
UNKNOWN = ("note", "memo", "remark", "blob", "x1", "freeText", "字段", "payload")


class Planted(dict):
    """Canaries by place."""

    def word(self, place):
        """A text that only its place gives away."""
        digest = hashlib.sha256(place.encode()).digest()
        return self._keep(place, "q" + base64.b32encode(digest)[:15].decode().lower())

    def number(self, place):
        """An integer of 14 digits."""
        number = int.from_bytes(hashlib.sha256(place.encode()).digest()[:6], "big") % 9 * 10**13 + 10**13
        number += int.from_bytes(hashlib.sha256(place.encode()).digest()[6:12], "big") % 10**13
        self._keep(place, str(number))
        return number

    def key(self, place):
        """A key as a vendor makes them, for places that keep what the application or a server names things."""
        digest = hashlib.sha256(place.encode()).hexdigest()
        self._keep(place, digest[:24])
        return "gl" + "pat-" + digest[:24]

    def _keep(self, place, text):
        assert place not in self, place
        self[place] = text
        return text


@dataclass
class Parcel:
    """Arguments as an object of the application."""

    label: str
    password: str


class Account(BaseModel):
    """Arguments as a pydantic model."""

    owner: str
    secret: SecretStr
    token: str


def tree(planted, side):
    """Arguments or a result with a canary in every kind of place."""

    def word(place):
        return planted.word(f"{side}: {place}")

    return {
        **{name: word(f"value of {name}") for name in (*SECRET, *PERSONAL, *UNKNOWN)},
        "status": f"told us {word('a sentence under an operational name')} and went home again",
        "number": planted.number(f"{side}: a number"),
        "deep": {"er": [{"still": [word("deep in lists")]}]},
        "headers": {"X-Api-Key": word("a header"), "Cookie": f"a=1; sid={word('a cookie')}"},
        "pairs": [["x-auth-token", word("a pair")], {"name": "Authorization", "value": word("a named pair")}],
        "argv": ["psql", "--password", word("an argument of a command"), f"--token={word('a joined argument')}"],
        "body": json.dumps({"inner": word("JSON in a text"), "more": json.dumps({"api_key": word("JSON in JSON in a text")})}),
        "raw": word("bytes").encode(),
        "pair": (word("a tuple"), {word("a set")}),
        "parcel": Parcel(word("a dataclass"), word("a secret of a dataclass")),
        "account": Account(owner=word("a model"), secret=word("a secret of a model"), token=word("a token of a model")),
        "error": ValueError(word("an exception as a value")),
        "is the password of the day": word("a value named by a sentence"),
        f"to whom it concerns {word('a sentence as a name')}": 1,
        f"{word('an address as a name')}@example.org": 2,
        planted.key(f"{side}: a key as a name"): 3,
        "label": planted.key(f"{side}: a key as a value"),
        "log": f"2026-01-02 ERROR login failed for {word('a line of a log')}",
        "url": f"https://svc:{word('a password in a URL')}@db.example.org/x?token={word('a token in a URL')}",
        "statement": f"DELETE FROM t WHERE name = '{word('a literal in SQL')}'",  # noqa: S608 -- nobody runs it
    }


def errors(planted):
    """An exception of every kind that carries text."""
    cause = KeyError(planted.word("error: cause"))
    noted = ValueError(planted.word("error: message"), {"password": planted.word("error: argument")})
    noted.add_note(planted.word("error: note"))
    noted.__cause__ = cause
    noted.__context__ = RuntimeError(planted.word("error: context"))
    said, named = planted.word("error: what its text says"), planted.word("error: name of its type")
    talking = type("TalkingError", (Exception,), {"__str__": lambda _: said, "__repr__": lambda _: said})
    spaced = type(f"An error of {named}", (Exception,), {})
    group = ExceptionGroup(planted.word("error: group"), [ValueError(planted.word("error: inside a group"))])
    return [noted, talking(), spaced(), group, TimeoutError(planted.word("error: time-out"))]


NAMED = (
    *("agent", "category", "session", "label", "model", "provider", "rule", "reason", "transport", "via", "retry", "vendor"),
    *("remote", "skill", "call id", "action", "node", "pointer", "removal", "response"),
    *("approval", "version", "item", "dependency", "group", "read", "written", "limit"),
)
"""What the application names things with; it is kept, so what is planted there is a vendor's key."""


class Material:
    """All that an agent plants."""

    def __init__(self) -> None:
        self.planted = planted = Planted()
        self.arguments, self.result = tree(planted, "arguments"), tree(planted, "result")
        self.executed = {"note": planted.word("executed arguments"), "token": planted.word("a secret in executed arguments")}
        self.text_arguments = f"not JSON at all: {planted.word('arguments that are no JSON')}"
        self.list_result = [planted.word("a result that is a list"), {"note": planted.word("in a result that is a list")}]
        self.text_result = f"all went well for {planted.word('a result that is a text')}"
        self.tool_arguments = {"order": planted.word("argument of a decorated tool")}
        self.tool_result = planted.word("result of a decorated tool")
        self.errors = errors(planted)
        self.history = history(planted)
        self.said = planted.word("a told message")
        self.answer = f"Here you are, {planted.word('answer')}"
        self.query = planted.word("query of a search for tools")
        self.found = [
            ("s", f"a tool called {planted.word('name of a found tool')}!"),
            (planted.key("server of a found tool"), "t"),
        ]
        self.approved = {"note": planted.word("approved arguments"), "token": planted.word("a secret in approved arguments")}
        self.items = {planted.word("id of an item"): "ok", planted.word("id of another item"): "failed"}
        self.approver, self.subject = planted.word("approver"), planted.word("subject")
        self.settings = {
            "temperature": 0.5,
            "api_key": planted.word("key in a model's settings"),
            "extra_headers": {"Authorization": planted.word("header in a model's settings")},
        }
        self.unregistered = [
            f"please run {planted.word('tool name of several words')}",
            f"{planted.word('tool name like an address')}@example.org",
            planted.key("tool name like a key"),
        ]
        self.server = f"a server of {planted.word('name of an unregistered server')}"
        self.collector_key = planted.word("header of our own requests")
        self.named = {name: planted.key(f"named by the application: {name}") for name in NAMED}
        self.tools = [tool(planted)]


def history(planted):
    """A chat's messages so far."""
    return [
        {"role": "system", "content": planted.word("system message")},
        {"role": "user", "content": [{"type": "text", "text": planted.word("part of a user message")}]},
        {"role": "assistant", "content": planted.word("assistant message")},
        {"role": "tool", "content": planted.word("tool message"), "tool_call_id": "c1"},
    ]


def tool(planted):
    """A tool object with keys in the texts that its author wrote."""
    properties = {
        "note": {"type": "string", "default": planted.key("key as a default")},
        "password": {"type": "string", "examples": [planted.key("key as an example")]},
    }
    return {
        "name": "look",
        "description": f"Looks up. Use {planted.key('key in a description')} to log in.",
        "input_schema": {"type": "object", "properties": properties},
    }


def lookalike(planted):
    """What a span that passes itself off as one of ours says in the clear."""
    raw = json.dumps(
        {"password": planted.word("own span: password"), "list": [{"apiKey": planted.word("own span: key in a list")}]}
    )
    return {
        names.RECORD: "call",
        "toolwitness.run.id": "r1",
        "toolwitness.call.id": "00000000000000ca",
        "toolwitness.call.ordinal": 1,
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.arguments": raw,
        "gen_ai.tool.call.result": json.dumps({"text": planted.key("own span: key in a result")}),
        "toolwitness.error.vendor_code": planted.key("own span: vendor code"),
        "error.type": planted.key("own span: error type"),
        "toolwitness.unheard.of": {"secret": planted.word("own span: attribute of no column")},
    }


def attributes(planted):
    """Attributes of every type, under names of other conventions and under none."""
    word = planted.word
    return {
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": word("foreign: input messages")}]),
        "gen_ai.tool.call.arguments": json.dumps({"q": word("foreign: arguments")}),
        "input.value": word("foreign: input value"),
        "llm.prompts": [word("foreign: item of a list")],
        "metadata": {"deep": {"er": word("foreign: nested value")}},
        "raw": word("foreign: bytes").encode(),
        "n": planted.number("foreign: number"),
        "http.request.header.authorization": [word("foreign: header")],
        "url.full": f"https://u:{word('foreign: password')}@example.org/?sig={word('foreign: signature of a URL')}",
        "db.query.text": f"SELECT '{word('foreign: literal in SQL')}'",
        "exception.message": word("foreign: exception message"),
        f"name of {word('foreign: name of an attribute')}": True,
        planted.key("foreign: key as a name"): 1,
    }


def foreign(planted):
    """A request of another instrumentor, with a canary wherever OTLP takes a text, and one that looks like ours."""
    word, key = planted.word, planted.key
    request = ExportTraceServiceRequest()
    state = f"vendor={word('foreign: trace state')}"
    span = add(request, attributes(planted), name=f"GET /reset/{key('foreign: name of a span')}", trace_state=state)
    span.status.code, span.status.message = 2, word("foreign: status message")
    event = span.events.add(name=key("foreign: name of an event"), time_unix_nano=span.start_time_unix_nano)
    event.attributes.extend(
        pairs({"exception.message": word("foreign: message of an event"), "exception.stacktrace": word("foreign: stack")})
    )
    link = span.links.add(
        trace_id=bytes(15) + b"\2", span_id=bytes(7) + b"\2", trace_state=f"a={word('foreign: state of a link')}"
    )
    link.attributes.extend(pairs({"note": word("foreign: attribute of a link")}))
    surround(planted, request.resource_spans[0])
    add(request, lookalike(planted), name=f"execute_tool {key('own span: name')}")
    return request


def surround(planted, resource):
    """Put a canary wherever a resource and its scope take a text."""
    word, key = planted.word, planted.key
    resource.resource.attributes.extend(
        pairs(
            {
                "process.command_args": [word("foreign: command line")],
                "host.name": word("foreign: host"),
                "user": word("foreign: user"),
            }
        )
    )
    resource.resource.attributes.add(key="service.name").value.CopyFrom(value(key("foreign: name of a service")))
    resource.schema_url = f"https://example.org/{word('foreign: schema of a resource')}"
    scope = resource.scope_spans[0]
    scope.scope.name, scope.scope.version = key("foreign: name of a scope"), word("foreign: version of a scope")
    scope.scope.attributes.extend(pairs({"api_key": word("foreign: attribute of a scope")}))
    scope.schema_url = f"https://example.org/{word('foreign: schema of a scope')}"


def strangers(planted):
    """(path, content type, body, headers) of requests that a collector refuses."""
    text = planted.word("refused: body").encode()
    return [
        ("/v1/traces", "application/json", b'{"resourceSpans": "' + text, {}),
        ("/v1/traces", "application/x-protobuf", b"\xff" + planted.word("refused: protobuf").encode(), {}),
        ("/v1/traces", f"text/{planted.word('refused: content type')}", b"{}", {}),
        ("/v1/traces", "application/json", b"{}", {"Content-Encoding": planted.word("refused: encoding")}),
        (f"/v1/{planted.word('refused: path')}?token={planted.word('refused: query')}", "application/json", b"{}", {}),
        ("/api/query", "application/json", json.dumps({"name": planted.word("refused: name of a query")}).encode(), {}),
        ("/v1/traces", "application/json", b"{}", {"Host": f"{planted.word('refused: host')}.example.org"}),
        ("/v1/traces", "application/json", b"[]", {"User-Agent": planted.word("refused: user agent")}),
    ]


def everything() -> tuple[Material, Any, list[Any]]:
    """What the agent plants, another instrumentor's request, and the requests of strangers; `Material.planted` knows all."""
    material = Material()
    return material, foreign(material.planted), strangers(material.planted)


def outside():
    """The environment as it is where no test runs, so that the guard swallows as it does for users."""
    return {name: text for name, text in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def send_agent(endpoint):
    """Run the agent that plants everything, in a process of its own; its exit code and what it said on both streams."""
    command = [sys.executable, str(Path(__file__).with_name("canary_agent.py")), endpoint]
    done = subprocess.run(command, capture_output=True, env=outside(), timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr
