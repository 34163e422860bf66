"""The table of errors: what it knows of installed packages, and what it makes of exceptions and codes."""

import importlib
import ssl  # noqa: F401 -- its exceptions are looked at

import pytest

from toolwitness.model import error_table
from toolwitness.model.enums import ErrorClass, Known
from toolwitness.model.error_docs import MARK, error_tables
from toolwitness.model.error_table import ALONE, CODE_SOURCES, EXCEPTIONS, HTTP, HTTP_WITHOUT_EFFECT
from toolwitness.model.errors import RECOVERY, RETRY_ALLOWED, Errors, OwnRule, Recovery, Thrown
from toolwitness.model.outcome import Access
from toolwitness.sdk.raised import CODE_PATHS, raised

LIBRARIES = {
    "builtins": "builtins",
    "httpx": "httpx",
    "httpx2": "httpx2",
    "requests": "requests.exceptions",
    "urllib3": "urllib3.exceptions",
    "aiohttp": "aiohttp.client_exceptions",
    "grpc": "grpc.aio",
    "sqlalchemy": "sqlalchemy.orm.exc",
    "botocore": "botocore.exceptions",
    "openai": "openai",
    "anthropic": "anthropic",
    "mcp": "mcp.shared.exceptions",
}
UNSURE_MODULES = (
    *("aiohttp._websocket", "aiohttp.compression_utils", "aiohttp.http_exceptions", "aiohttp.payload", "aiohttp.streams"),
    *("aiohttp.web", "anthropic._response", "anthropic.lib", "botocore.vendored", "grpc._", "requests.cookies", "urllib3.util"),
    *("openai._legacy_response", "openai._response", "openai.auth"),
    *("mcp.client", "mcp.server", "mcp.shared.auth", "mcp.shared.path_security", "mcp.shared.uri_template", "mcp.os"),
    *("sqlalchemy.engine.interfaces", "sqlalchemy.orm", "sqlalchemy.util", "sqlalchemy.dialects"),
)
"""Modules of which no exception is known for certain: internals, servers' halves, copies of other packages."""


def types_of(kind):
    """Module and qualified name along the MRO, as the agent's thread collects them."""
    return tuple(f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__)


def exceptions_of(library):
    """Every exception class of a library, those that it defined while it was imported included."""
    importlib.import_module(LIBRARIES[library])
    waiting, found = [BaseException], {}
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__.split(".")[0] == library and not issubclass(kind, Warning):
            found[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return found


def thrown(error):
    """An exception as the worker reads it."""
    chain = raised(error).chain
    return [Thrown(tuple(".".join(name) for name in each.types), dict(each.values)) for each in chain]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_exception_of_a_library_was_looked_at(library):
    """It, or a type of its own library above it, stands in the table; or it is of a module of which nothing is said."""
    pytest.importorskip(library)
    silent = set()
    for name, kind in exceptions_of(library).items():
        nearest = next(each for each in types_of(kind) if each in EXCEPTIONS)
        if nearest.split(".")[0] != library and not name.startswith(UNSURE_MODULES):
            silent.add(name)

    assert silent == set()


@pytest.mark.parametrize("library", list(LIBRARIES)[1:])
def test_the_table_names_what_there_is(library):
    """Each exception in it exists in the installed package; older names are said here."""
    pytest.importorskip(library)
    older = {"mcp.shared.exceptions.McpError"}
    listed = {name for name in EXCEPTIONS if name.split(".")[0] == library}

    assert listed - exceptions_of(library).keys() - older == set()


def test_the_page_shows_the_tables(root):
    """Its generated part is what the generator writes."""
    page = (root / "docs" / "errors.md").read_text(encoding="utf-8")

    assert page[page.index(MARK) :] == error_tables()


def test_no_name_stands_twice():
    """The last of two would win in silence."""
    rows = [f"{module}.{name}" for module, rules in error_table.BY_MODULE for *_, names in rules for name in names.split()]

    assert len(EXCEPTIONS) == len(rows)


def test_every_class_has_its_recovery():
    """One for each, in a fixed vocabulary that holds nothing else."""
    assert set(ErrorClass) == RECOVERY.keys() == RETRY_ALLOWED.keys()
    assert set(Recovery) == set(RECOVERY.values())


def test_what_rules_an_effect_out_is_in_the_table_of_statuses():
    """And no server error is in it."""
    assert HTTP_WITHOUT_EFFECT.keys() <= HTTP.keys()
    assert max(HTTP_WITHOUT_EFFECT) < 500
    assert HTTP_WITHOUT_EFFECT.keys().isdisjoint({404, 408, 409, 422, 423, 429})


def test_the_agents_thread_looks_where_codes_are_kept():
    """Each path of the table is one that is collected, and the other way round."""
    told = {source.path for sources in CODE_SOURCES.values() for source in sources}

    assert {".".join(path) for path in CODE_PATHS} == told | {"status_code", "code"}


def test_the_nearest_type_wins():
    """A refused connection is known better than a connection error."""
    assert Errors().read("t", thrown(ConnectionRefusedError())).rule == (ErrorClass.TEMPORARY, Known.NO)
    assert Errors().read("t", thrown(ConnectionResetError())).rule == (ErrorClass.TEMPORARY, Known.UNKNOWN)


@pytest.mark.parametrize("error", [ValueError(), KeyError("a"), OSError(), type("OutOfStock", (Exception,), {})()])
def test_what_is_not_sure_is_unclassified(error):
    """Never temporary, which would invite another try."""
    assert Errors().read("t", thrown(error)).rule.error_class is ErrorClass.UNCLASSIFIED


def test_a_wrapper_of_ones_own_is_read_by_what_it_was_raised_from():
    """`raise ... from` says it; that something was being handled does not."""

    def failing(*, explicit):
        try:
            timing_out()
        except TimeoutError as error:
            if explicit:
                raise RuntimeError from error
            raise RuntimeError  # noqa: B904 -- what is tried

    def timing_out():
        raise TimeoutError

    found = []
    for explicit in (True, False):
        with pytest.raises(RuntimeError) as caught:
            failing(explicit=explicit)
        found.append(Errors().read("t", thrown(caught.value)).rule.error_class)

    assert found == [ErrorClass.TEMPORARY, ErrorClass.UNCLASSIFIED]


def aws_error():
    """What botocore makes of an answer."""
    botocore = pytest.importorskip("botocore.exceptions")
    answer = {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return botocore.ClientError(answer, "PutItem")


def grpc_error():
    """What grpc's asynchronous stack raises."""
    grpc = pytest.importorskip("grpc")
    return grpc.aio.AioRpcError(grpc.StatusCode.ALREADY_EXISTS, grpc.aio.Metadata(), grpc.aio.Metadata())


def mcp_error():
    """What a server's JSON-RPC error becomes."""
    return pytest.importorskip("mcp").MCPError(-32602, "x")


def status_error():
    """What `raise_for_status` of httpx raises."""
    httpx = pytest.importorskip("httpx")
    request = httpx.Request("POST", "http://a")
    return httpx.HTTPStatusError("x", request=request, response=httpx.Response(429, request=request))


def answered_error():
    """What aiohttp raises for a status."""
    return pytest.importorskip("aiohttp").ClientResponseError(None, (), status=404)


def quota_error():
    """A 429 of OpenAI that no waiting helps against."""
    openai, httpx2 = pytest.importorskip("openai"), pytest.importorskip("httpx2")
    response = httpx2.Response(429, request=httpx2.Request("POST", "http://a"))
    return openai.RateLimitError("m", response=response, body={"code": "insufficient_quota"})


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (aws_error, (ErrorClass.RATE_LIMIT, "ThrottlingException", 400)),
        (grpc_error, (ErrorClass.CONFLICT, "ALREADY_EXISTS", None)),
        (mcp_error, (ErrorClass.VALIDATION, "-32602", None)),
        (status_error, (ErrorClass.RATE_LIMIT, None, 429)),
        (answered_error, (ErrorClass.STALE_REFERENCE, None, 404)),
        (quota_error, (ErrorClass.PERMANENT, "insufficient_quota", 429)),
    ],
)
def test_codes_are_read_where_their_library_keeps_them(make, expected):
    """And are kept as they were."""
    reading = Errors().read("t", thrown(make()))

    assert (reading.rule.error_class, reading.vendor_code, reading.status) == expected


def test_a_code_of_an_unknown_type_is_not_read():
    """`code` of anybody's exception may be anything."""

    class CouponError(Exception):
        def __init__(self):
            self.code = "alice-10"

    assert Errors().read("t", thrown(CouponError())).vendor_code is None


def test_no_code_of_an_exceptions_class_runs():
    """Neither of its attributes nor of what stands in them."""
    ran = []

    class LoudError(Exception):
        def __getattribute__(self, name):
            ran.append(name)
            return super().__getattribute__(name)

        code = property(lambda _self: ran.append("code"))

    class Plain:
        def __init__(self):
            self.code = 7

    class Holder:
        def __getattr__(self, name):
            ran.append(name)

    error = LoudError()
    BaseException.__dict__["__dict__"].__get__(error).update(response=Holder(), error=Plain(), status=True)
    ran.clear()
    seen = raised(error).chain[0]

    assert ran == []
    assert dict(seen.values) == {"error.code": 7}


def test_a_subclass_of_a_bad_request_says_something_of_its_own():
    """Anthropic's 400 has many meanings, of which the class alone tells nothing certain."""
    assert {"anthropic.BadRequestError"} == ALONE
    known, own = (
        Thrown(("anthropic.BadRequestError",)),
        Thrown(("anthropic.OrganizationOnHoldError", "anthropic.BadRequestError")),
    )

    assert Errors().read("t", [known]).rule.error_class is ErrorClass.VALIDATION
    assert Errors().read("t", [own]).rule.error_class is ErrorClass.UNCLASSIFIED


def test_what_may_have_happened_is_an_unknown_commit_for_a_tool_that_may_write():
    """Trying again is for what only reads, or is proven to have done nothing."""
    reading = Errors().read("t", thrown(TimeoutError()))

    assert reading.error_class(Access.MAY_WRITE, proven=False) is ErrorClass.UNKNOWN_COMMIT
    assert reading.error_class(Access.MAY_WRITE, proven=True) is ErrorClass.TEMPORARY
    assert reading.error_class(Access.READS, proven=False) is ErrorClass.TEMPORARY


def test_rules_of_the_application_win():
    """For the tool that they name, by type or by code."""
    mine = OwnRule("exception", "builtins.TimeoutError", ErrorClass.PERMANENT, tool="pay")
    coded = OwnRule("http", 409, ErrorClass.VALIDATION)
    errors = Errors([mine, coded])

    assert errors.read("pay", thrown(TimeoutError())).own is mine
    assert errors.read("look", thrown(TimeoutError())).own is None
    assert errors.read("look", status=409).rule.error_class is ErrorClass.VALIDATION
