"""Why a request is refused: every HTTP-level refusal once, with its status, its count's name and its message.

The names are what table `ingest` counts under. No message ever repeats what the request held: it was not redacted.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAVAILABLE = 3, 5, 7, 8, 12, 14
"""Codes of `google.rpc.Code`, which OTLP/HTTP wants in the body of an error."""

RETRY_AFTER_S = "2"
"""The standard exporter gives a batch 10 s in all: waiting 2 s leaves it several tries, 30 s none."""


class Answer(NamedTuple):
    """How a refusal is answered and counted; `code` is a `google.rpc.Code`."""

    status: int
    code: int
    reason: str
    message: str


class Refusal(Enum):
    """Everything that a request can be refused for."""

    BROKEN_COMPRESSION = Answer(
        400, INVALID_ARGUMENT, "http_400_broken_compression", "the body is not what its Content-Encoding says"
    )
    TRUNCATED_COMPRESSION = Answer(
        400, INVALID_ARGUMENT, "http_400_truncated_compression", "the compressed body ends before its end; send all of it"
    )
    BAD_PROTOBUF = Answer(400, INVALID_ARGUMENT, "http_400_bad_protobuf", "the body is no protobuf ExportTraceServiceRequest")
    BAD_JSON = Answer(400, INVALID_ARGUMENT, "http_400_bad_json", "the body is no OTLP JSON object with resourceSpans")
    BAD_QUERY = Answer(
        400, INVALID_ARGUMENT, "http_400_bad_query", 'the body must be JSON: {"name": "tools", "params": {"...": "..."}}'
    )
    BAD_PARAMETERS = Answer(
        400, INVALID_ARGUMENT, "http_400_bad_parameters", "the named query cannot run with these parameters"
    )
    BODY_CUT = Answer(400, INVALID_ARGUMENT, "http_400_body_cut", "the connection ended before the body did")
    UNKNOWN_QUERY = Answer(404, NOT_FOUND, "http_404_unknown_query", "no query of that name; GET /api/health lists them")
    UNKNOWN_PATH = Answer(
        404, NOT_FOUND, "http_404_unknown_path", "nothing is here; known: POST /v1/traces, POST /api/query, GET /api/health"
    )
    WRONG_METHOD = Answer(405, UNIMPLEMENTED, "http_405_wrong_method", "this path answers to another method; see Allow")
    TOO_LARGE = Answer(
        413, RESOURCE_EXHAUSTED, "http_413_too_large", "the body is too large, decompressed too; send fewer spans a request"
    )
    WRONG_CONTENT_TYPE = Answer(
        415, INVALID_ARGUMENT, "http_415_content_type", "Content-Type must be application/x-protobuf or application/json"
    )
    WRONG_ENCODING = Answer(
        415, INVALID_ARGUMENT, "http_415_content_encoding", "Content-Encoding must be gzip, deflate or identity"
    )
    WRONG_HOST = Answer(
        421,
        PERMISSION_DENIED,
        "http_421_wrong_host",
        "this collector does not answer to that Host; use 127.0.0.1 or localhost, or start it with the host allowed",
    )
    QUEUE_FULL = Answer(503, UNAVAILABLE, "http_503_queue_full", "too much is waiting to be stored; send it again later")
    STORE_FAILED = Answer(
        503, UNAVAILABLE, "http_503_store_failed", "the spans could not be stored; see the collector's own output"
    )


class RefusedError(Exception):
    """A request is refused; `detail` takes the place of the refusal's own message where it may be shown."""

    def __init__(self, refusal: Refusal, detail: str | None = None, *, allow: str | None = None) -> None:
        super().__init__(refusal.value.message)
        self.answer: Answer = refusal.value
        self.message = detail or refusal.value.message
        self.headers: dict[str, str] = {}
        if allow is not None:
            self.headers["allow"] = allow
        if self.answer.code == UNAVAILABLE:
            self.headers["retry-after"] = RETRY_AFTER_S
