"""What OpenTelemetry's conventions let stay of a span of anybody's."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from toolwitness.redaction import RedactionPolicy, is_placeholder
from toolwitness.redaction.attributes import MOST_ATTRIBUTES, clean_attributes
from toolwitness.redaction.conventions import event_name, keeps, keeps_of_resource, scope_name, scope_version, span_name

CANARY = "canary" + "-7f3a9"

NAMES = {
    "chat gpt-4o-2024-08-06": "chat gpt-4o-2024-08-06",
    "execute_tool search_orders": "execute_tool search_orders",
    "execute_tool send the money to Jo": "execute_tool {}",
    f"execute_tool {CANARY} x": "execute_tool {}",
    "invoke_agent jo@example.org": "invoke_agent {}",
    "POST": "POST",
    "GET /users/jo": "GET /users/{}",
    "GET /u/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln": "GET /{}/{}",
    "GET jo": "GET {}",
    "ChatOpenAI.chat": "ChatOpenAI.chat",
    "openai.chat": "openai.chat",
    "agent run": "agent run",
    "running 3 tools": "running {} tools",
    "MCP send tools/list": "MCP send tools/list",
    "Handle the case of Jane Doe": "Handle the {} of {}",
    CANARY: "{}",
    "": "{}",
    "x" * 300: "{}",
}


@pytest.mark.parametrize("name", NAMES, ids=[str(at) for at in range(len(NAMES))])
def test_a_span_s_name_keeps_what_is_the_program_s_own(name):
    """Names of tools, models and code stay where they are one plain word; the rest is a gap."""
    assert span_name(name) == NAMES[name]


def test_a_route_is_a_name_where_the_span_says_so_itself():
    """A path of words, with parameters for the rest."""
    assert span_name("GET /shops/{shop}/orders", "/shops/{shop}/orders") == "GET /shops/{shop}/orders"
    assert span_name("GET /shops/7/orders", "/shops/7/orders") == "GET /{}/{}/{}"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("http.request.method", "GET", True),
        ("http.request.method", CANARY, False),
        ("http.route", "/v2/orders/{id}", True),
        ("http.route", "/orders/4711", False),
        ("gen_ai.usage.input_tokens", 12, True),
        ("gen_ai.usage.input_tokens", 4_111_111_111_111_111, False),
        ("gen_ai.usage.input_tokens", "12", False),
        ("gen_ai.request.temperature", float("nan"), False),
        ("gen_ai.request.temperature", float("inf"), False),
        ("gen_ai.request.model", "gpt-4o", True),
        ("gen_ai.request.model", "a model of mine", False),
        ("gen_ai.response.finish_reasons", ("stop", "tool_calls"), True),
        ("gen_ai.response.finish_reasons", ("stop", "I am done"), False),
        ("server.address", "api.openai.com", True),
        ("server.address", "10.0.0.7", False),
        ("error.type", "429", True),
        ("error.type", "openai.RateLimitError", True),
        ("error.type", f"no {CANARY}", False),
        ("exception.escaped", True, True),
        ("note", True, False),
        ("url.full", "https://example.org/", False),
        ("user.id", "7", False),
    ],
    ids=str,
)
def test_an_attribute_stays_where_its_value_is_of_its_kind(name, value, kept):
    """A name alone clears no value."""
    assert keeps(name, value) is kept


def test_resources_scopes_and_events_keep_known_names():
    """Everything else is a gap or gone."""
    assert keeps_of_resource("service.name", "shop")
    assert not keeps_of_resource("service.name", "the shop of Jo")
    assert not any(keeps_of_resource(name, "x") for name in ("host.name", "process.command_args", "os.description", "user"))
    assert scope_name("opentelemetry.instrumentation.openai.v1") == "opentelemetry.instrumentation.openai.v1"
    assert (scope_name(CANARY), scope_version("1.3.0rc2"), scope_version(CANARY)) == ("{}", "1.3.0rc2", None)
    assert (event_name("exception"), event_name(f"said {CANARY}"), event_name("sekrit")) == ("exception", "{}", "{}")


def test_attributes_that_nobody_knows_leave_their_shape():
    """The engine redacts them, and messages become templates."""
    clean = clean_attributes({"app.note": CANARY, "exception.message": f"no {CANARY}", "gen_ai.operation.name": "chat"})
    assert clean.values["gen_ai.operation.name"] == "chat"
    assert clean.values["exception.message"] == "no {}"
    assert is_placeholder(clean.values["app.note"])


@pytest.mark.parametrize(
    ("selector", "declared"),
    [
        ("*:attributes.tier", ["tier"]),
        ('*:attributes["gen_ai.operation.name"]', ["gen_ai.operation.name"]),
        ("*:attributes", ["[key]", "[key]#1"]),  # names are no public knowledge where everything is declared to be secret
        ("*:*", ["[key]", "[key]#1"]),
    ],
    ids=str,
)
def test_what_the_application_declares_comes_first(selector, declared):
    """Also for attributes that a convention would keep."""
    policy = RedactionPolicy(classes={selector: "secret"})
    clean = clean_attributes({"tier": "gold", "gen_ai.operation.name": "chat"}, policy).values
    secret = [name for name, value in clean.items() if is_placeholder(value) and value["$tw:redacted"]["c"] == "secret"]
    assert secret == declared


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("app.note", "app.note"),
        ("llm.input_messages.12.message.content", "llm.input_messages.12.message.content"),
        ("k8s.pod_name", "k8s.pod_name"),
        ("sha256-sum", "sha256-sum"),
        ("用户.备注", "用户.备注"),
        ("user.4711001.note", "[key]"),
        (f"seen.{CANARY}", "[key]"),
        ("jo@example.org", "[email]"),
        ("what Jo said", "[key]"),
    ],
    ids=str,
)
def test_a_name_that_holds_data_is_masked_too(name, shown):
    """Applications build names of attributes from ids."""
    clean = clean_attributes({name: "x", "b": "y"})
    assert list(clean.values) == [shown, "b"]


def test_masked_names_stay_apart():
    """No value is lost."""
    assert len(clean_attributes({f"{CANARY}{at}x": "x" for at in range(9)}).values) == 9


def test_attributes_beyond_the_limit_are_not_looked_at():
    """How many there were is told."""
    clean = clean_attributes({f"gen_ai.usage.n{at}": at for at in range(MOST_ATTRIBUTES + 5)})
    assert (len(clean.values), clean.left_out) == (MOST_ATTRIBUTES, 5)


def test_names_of_real_instrumentations_stay(shared):
    """Twelve captures: every span, event of an exception, and scope keeps its name."""
    for path in sorted(Path(shared, "data", "captures").glob("*/spans.pb.gz")):
        request = ExportTraceServiceRequest.FromString(gzip.decompress(path.read_bytes()))
        scopes = [scope for resource in request.resource_spans for scope in resource.scope_spans]
        assert [scope_name(scope.scope.name) for scope in scopes] == [scope.scope.name for scope in scopes]
        spans = [span for scope in scopes for span in scope.spans]
        assert [span_name(span.name) for span in spans] == [span.name for span in spans]
