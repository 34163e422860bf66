"""What is known of exceptions and codes, as data: class, and whether something may have left the process.

Exceptions stand by module and qualified name, so that nothing of their packages is imported; the nearest type of the MRO wins.
`unclassified` is an entry of its own: we looked, and nothing certain can be said. `docs/errors.md` shows these tables.

The word on leaving is about the one operation that failed. It proves nothing of an attempt, which may have done more
(docs/adr/0014); proof of that is made where requests are watched.
"""

from __future__ import annotations

from typing import NamedTuple

from toolwitness.model.enums import ErrorClass, Known


class Rule(NamedTuple):
    """What an exception or a code means. `left`: whether the operation that failed may have left the process."""

    error_class: ErrorClass
    left: Known


_VALIDATION, _PERMISSION, _APPROVAL = ErrorClass.VALIDATION, ErrorClass.PERMISSION, ErrorClass.NEEDS_APPROVAL
_STALE, _CONFLICT, _RATE = ErrorClass.STALE_REFERENCE, ErrorClass.CONFLICT, ErrorClass.RATE_LIMIT
_TEMPORARY, _PERMANENT, _INTERNAL = ErrorClass.TEMPORARY, ErrorClass.PERMANENT, ErrorClass.INTERNAL
_COMMIT, _UNSURE = ErrorClass.UNKNOWN_COMMIT, ErrorClass.UNCLASSIFIED
_NO, _MAY, _YES = Known.NO, Known.UNKNOWN, Known.YES

_HTTPX = (
    (_TEMPORARY, _NO, "ConnectError ConnectTimeout PoolTimeout"),
    (_TEMPORARY, _MAY, "TransportError TimeoutException ReadTimeout WriteTimeout NetworkError ReadError WriteError CloseError"),
    (_TEMPORARY, _MAY, "RemoteProtocolError"),
    (_UNSURE, _NO, "ProxyError UnsupportedProtocol InvalidURL"),
    (_UNSURE, _MAY, "HTTPError RequestError ProtocolError LocalProtocolError DecodingError TooManyRedirects CookieConflict"),
    (_UNSURE, _MAY, "StreamError StreamConsumed StreamClosed ResponseNotRead RequestNotRead"),
    (_UNSURE, _YES, "HTTPStatusError"),
)
_STAINLESS = (
    (_TEMPORARY, _MAY, "APIConnectionError APITimeoutError"),
    (_VALIDATION, _YES, "BadRequestError UnprocessableEntityError"),
    (_PERMISSION, _YES, "AuthenticationError PermissionDeniedError"),
    (_STALE, _YES, "NotFoundError"),
    (_CONFLICT, _YES, "ConflictError"),
    (_RATE, _YES, "RateLimitError"),
    (_INTERNAL, _YES, "InternalServerError"),
    (_UNSURE, _MAY, "APIError APIStatusError APIResponseValidationError"),
)

BY_MODULE: tuple[tuple[str, tuple[tuple[ErrorClass, Known, str], ...]], ...] = (
    (
        "builtins",
        (
            (_TEMPORARY, _NO, "ConnectionRefusedError"),
            (_TEMPORARY, _MAY, "TimeoutError ConnectionError ConnectionResetError ConnectionAbortedError BrokenPipeError"),
            (_PERMISSION, _MAY, "PermissionError"),
            (_CONFLICT, _MAY, "FileExistsError"),
            (_INTERNAL, _MAY, "NameError UnboundLocalError ImportError ModuleNotFoundError SyntaxError AssertionError"),
            (_INTERNAL, _MAY, "NotImplementedError RecursionError MemoryError SystemError ReferenceError BufferError"),
            (_UNSURE, _MAY, "BaseException Exception BaseExceptionGroup ArithmeticError LookupError OSError RuntimeError"),
            (_UNSURE, _MAY, "ValueError TypeError AttributeError KeyError IndexError EOFError UnicodeError StopIteration"),
            (_UNSURE, _MAY, "StopAsyncIteration GeneratorExit KeyboardInterrupt SystemExit BlockingIOError InterruptedError"),
            (_UNSURE, _MAY, "ChildProcessError ProcessLookupError FileNotFoundError IsADirectoryError NotADirectoryError"),
        ),
    ),
    (
        "toolwitness.model.exceptions",
        (
            (_CONFLICT, _NO, "IdempotencyConflictError"),
            (_VALIDATION, _NO, "IdempotencyKeyError RedactedArgumentError"),
        ),
    ),
    ("socket", ((_TEMPORARY, _NO, "gaierror"), (_UNSURE, _NO, "herror"))),
    ("ssl", ((_UNSURE, _NO, "SSLCertVerificationError"), (_UNSURE, _MAY, "SSLError"))),
    ("httpx", _HTTPX),
    ("httpx2", (*_HTTPX, (_UNSURE, _MAY, "SSEError"))),
    (
        "requests.exceptions",
        (
            (_TEMPORARY, _NO, "ConnectTimeout"),
            (_TEMPORARY, _MAY, "ConnectionError Timeout ReadTimeout ChunkedEncodingError"),
            (_UNSURE, _NO, "URLRequired MissingSchema InvalidSchema InvalidURL InvalidHeader"),
            (
                _UNSURE,
                _MAY,
                "RequestException ProxyError SSLError InvalidJSONError JSONDecodeError TooManyRedirects RetryError",
            ),
            (_UNSURE, _MAY, "ContentDecodingError StreamConsumedError UnrewindableBodyError"),
            (_UNSURE, _YES, "HTTPError"),
        ),
    ),
    (
        "urllib3.exceptions",
        (
            (_TEMPORARY, _NO, "ConnectTimeoutError NewConnectionError NameResolutionError EmptyPoolError"),
            (_TEMPORARY, _MAY, "TimeoutError ReadTimeoutError ProtocolError IncompleteRead InvalidChunkLength"),
            (_UNSURE, _NO, "LocationValueError LocationParseError URLSchemeUnknown ProxySchemeUnknown ProxySchemeUnsupported"),
            (_UNSURE, _MAY, "HTTPError PoolError RequestError MaxRetryError ProxyError SSLError DecodeError ResponseError"),
            (
                _UNSURE,
                _MAY,
                "FullPoolError ClosedPoolError HostChangedError TimeoutStateError ResponseNotChunked InvalidHeader",
            ),
            (_UNSURE, _MAY, "HeaderParsingError UnrewindableBodyError BodyNotHttplibCompatible"),
        ),
    ),
    (
        "aiohttp.client_exceptions",
        (
            (_TEMPORARY, _NO, "ClientConnectorError ClientConnectorDNSError UnixClientConnectorError ConnectionTimeoutError"),
            (_TEMPORARY, _MAY, "ClientConnectionError ClientOSError ClientConnectionResetError ServerConnectionError"),
            (_TEMPORARY, _MAY, "ServerDisconnectedError ServerTimeoutError SocketTimeoutError ClientPayloadError"),
            (
                _UNSURE,
                _NO,
                "ClientProxyConnectionError ClientSSLError ServerFingerprintMismatch InvalidURL NonHttpUrlClientError",
            ),
            (_UNSURE, _MAY, "ClientError RedirectClientError InvalidUrlRedirectClientError NonHttpUrlRedirectClientError"),
            (_UNSURE, _MAY, "UploadAbortedError WSMessageTypeError ClientHttpProxyError TooManyRedirects"),
            (_UNSURE, _YES, "ClientResponseError ContentTypeError WSServerHandshakeError"),
        ),
    ),
    ("grpc", ((_UNSURE, _MAY, "RpcError FutureTimeoutError FutureCancelledError"),)),
    (
        "sqlalchemy.exc",
        (
            (_TEMPORARY, _NO, "TimeoutError"),
            (_CONFLICT, _YES, "IntegrityError"),
            (_VALIDATION, _YES, "DataError"),
            (_INTERNAL, _NO, "ArgumentError CompileError IdentifierError CircularDependencyError"),
            (_UNSURE, _MAY, "SQLAlchemyError InvalidRequestError StatementError DBAPIError DatabaseError InterfaceError"),
            (_UNSURE, _MAY, "OperationalError InternalError ProgrammingError NotSupportedError DisconnectionError"),
            (_UNSURE, _MAY, "EmulatedDBAPIException"),
        ),
    ),
    ("sqlalchemy.orm.exc", ((_STALE, _YES, "StaleDataError ObjectDeletedError"), (_UNSURE, _MAY, "FlushError"))),
    (
        "botocore.exceptions",
        (
            (_TEMPORARY, _NO, "EndpointConnectionError ConnectTimeoutError"),
            (_TEMPORARY, _MAY, "ConnectionClosedError ReadTimeoutError ResponseStreamingError IncompleteReadError"),
            (_VALIDATION, _NO, "ParamValidationError ValidationError MissingParametersError"),
            (_PERMISSION, _NO, "NoCredentialsError PartialCredentialsError NoAuthTokenError UnauthorizedSSOTokenError"),
            (_UNSURE, _MAY, "BotoCoreError ClientError ConnectionError HTTPClientError SSLError UndefinedModelAttributeError"),
        ),
    ),
    (
        "openai",
        (
            *_STAINLESS,
            (_UNSURE, _MAY, "OpenAIError InvalidWebhookSignatureError"),
        ),
    ),
    (
        "anthropic",
        (
            *_STAINLESS,
            (_TEMPORARY, _YES, "RequestTimeoutError OverloadedError ServiceUnavailableError GatewayTimeoutError"),
            (_PERMANENT, _YES, "PaymentRequiredError HTTPNotImplementedError"),
            (_PERMANENT, _YES, "ContractSpendLimitReachedError EnforcedSpendLimitReachedError"),
            (_VALIDATION, _YES, "ContentTooLargeError RequestHeaderFieldsTooLargeError"),
            (_STALE, _YES, "PreconditionFailedError"),
            (_UNSURE, _YES, "ClientClosedRequestError CMEKKeyUnreachableError CMEKContextUnavailableError"),
            (_UNSURE, _MAY, "AnthropicError"),
        ),
    ),
    ("anthropic.types.change_outcome_unknown_error", ((_COMMIT, _YES, "ChangeOutcomeUnknownError"),)),
    (
        "anthropic.types.organization.workspace_created_incomplete_error",
        ((_COMMIT, _YES, "WorkspaceCreatedIncompleteError"),),
    ),
    (
        "anthropic.types.beta.organization.beta_registration_pending_error",
        ((_UNSURE, _YES, "BetaRegistrationPendingError"),),
    ),
    (
        "mcp.shared.exceptions",
        (
            (_APPROVAL, _YES, "UrlElicitationRequiredError"),
            (_UNSURE, _MAY, "MCPError McpError NoBackChannelError"),
        ),
    ),
)

EXCEPTIONS: dict[str, Rule] = {
    f"{module}.{name}": Rule(error_class, left)
    for module, rows in BY_MODULE
    for error_class, left, names in rows
    for name in names.split()
}
"""By module and qualified name."""

ALONE = frozenset({"anthropic.BadRequestError"})
"""Types whose rule holds for themselves only, since their subclasses tell something of their own: 400 with 85 meanings."""

HTTP: dict[int, Rule] = {
    **dict.fromkeys((400, 411, 413, 414, 415, 417, 422, 428, 431), Rule(_VALIDATION, _YES)),
    **dict.fromkeys((401, 403, 407, 511), Rule(_PERMISSION, _YES)),
    **dict.fromkeys((404, 410, 412), Rule(_STALE, _YES)),
    **dict.fromkeys((409, 423), Rule(_CONFLICT, _YES)),
    **dict.fromkeys((408, 425, 502, 503, 504), Rule(_TEMPORARY, _YES)),
    **dict.fromkeys((402, 405, 406, 426, 451, 501, 505), Rule(_PERMANENT, _YES)),
    421: Rule(_TEMPORARY, _YES),
    429: Rule(_RATE, _YES),
    500: Rule(_INTERNAL, _YES),
}
"""RFC 9110, 4918 (422, 423), 6585 (428, 429, 431, 511), 7725 (451), 8470 (425)."""

HTTP_WITHOUT_EFFECT: dict[int, str] = {
    400: 'RFC 9110, 15.5.1: "cannot or will not process the request"',
    401: 'RFC 9110, 15.5.2: "the request has not been applied"',
    403: 'RFC 9110, 15.5.4: "refuses to fulfill it"',
    405: "RFC 9110, 15.5.6: the target does not support the method",
    411: 'RFC 9110, 15.5.12: "refuses to accept the request"',
    413: 'RFC 9110, 15.5.14: "refusing to process a request"',
    414: 'RFC 9110, 15.5.15: "refusing to service the request"',
    415: 'RFC 9110, 15.5.16: "refusing to service the request"',
    421: "RFC 9110, 15.5.20: unable or unwilling to answer for the target; may be sent again whatever its method",
    425: 'RFC 8470, 5.2: "unwilling to risk processing a request"',
    426: 'RFC 9110, 15.5.22: "refuses to perform the request"',
    428: "RFC 6585, 3: the server requires the request to be conditional",
    431: 'RFC 6585, 5: "unwilling to process the request"',
}
"""Statuses of which the standard says that the request was not carried out, where it was the only one of its attempt.

Left out, since what the standards say of them rules no effect out: 404, 408, 409, 410, 412, 422, 423, 429, every 5xx."""

GRPC: dict[str, Rule] = {
    "INVALID_ARGUMENT": Rule(_VALIDATION, _YES),
    "OUT_OF_RANGE": Rule(_VALIDATION, _YES),
    "DEADLINE_EXCEEDED": Rule(_TEMPORARY, _MAY),
    "UNAVAILABLE": Rule(_TEMPORARY, _MAY),
    "NOT_FOUND": Rule(_STALE, _YES),
    "ALREADY_EXISTS": Rule(_CONFLICT, _YES),
    "ABORTED": Rule(_CONFLICT, _YES),
    "PERMISSION_DENIED": Rule(_PERMISSION, _YES),
    "UNAUTHENTICATED": Rule(_PERMISSION, _YES),
    "RESOURCE_EXHAUSTED": Rule(_RATE, _YES),
    "UNIMPLEMENTED": Rule(_PERMANENT, _YES),
    "INTERNAL": Rule(_INTERNAL, _YES),
    "DATA_LOSS": Rule(_INTERNAL, _YES),
    "CANCELLED": Rule(_UNSURE, _MAY),
    "UNKNOWN": Rule(_UNSURE, _MAY),
    "FAILED_PRECONDITION": Rule(_UNSURE, _YES),
}
"""Status codes of gRPC, by name."""

JSONRPC: dict[int, Rule] = {
    -32700: Rule(_INTERNAL, _YES),
    -32600: Rule(_INTERNAL, _YES),
    -32601: Rule(_PERMANENT, _YES),
    -32602: Rule(_VALIDATION, _YES),
    -32603: Rule(_INTERNAL, _YES),
    -32002: Rule(_STALE, _YES),
    -32042: Rule(_APPROVAL, _YES),
    408: Rule(_TEMPORARY, _MAY),
    **dict.fromkeys((-32000, -32001), Rule(_UNSURE, _MAY)),
}
"""JSON-RPC 2.0, and what MCP says by it: -32002 no such resource, -32042 a person has to open a page, 408 timed out.

With -32000 and -32001 the package mcp says that the connection closed or time ran out, and servers say whatever they like."""

VENDOR: dict[str, Rule] = {
    **dict.fromkeys(
        ("Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown"), Rule(_RATE, _YES)
    ),
    **dict.fromkeys(("AccessDenied", "AccessDeniedException", "UnrecognizedClientException"), Rule(_PERMISSION, _YES)),
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId"), Rule(_PERMISSION, _YES)),
    **dict.fromkeys(("ResourceNotFoundException", "NoSuchKey", "NoSuchBucket"), Rule(_STALE, _YES)),
    **dict.fromkeys(("ConditionalCheckFailedException", "ResourceInUseException"), Rule(_CONFLICT, _YES)),
    "ValidationException": Rule(_VALIDATION, _YES),
    "ServiceQuotaExceededException": Rule(_PERMANENT, _YES),
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "ratelimited"), Rule(_RATE, _YES)),
    **dict.fromkeys(("insufficient_quota", "billing_error"), Rule(_PERMANENT, _YES)),
    **dict.fromkeys(("invalid_api_key", "authentication_error", "permission_error", "invalid_auth"), Rule(_PERMISSION, _YES)),
    "overloaded_error": Rule(_TEMPORARY, _YES),
}
"""Codes of AWS, OpenAI, Anthropic and Slack that mean one thing wherever they stand."""


class CodeSource(NamedTuple):
    """Where an exception keeps a code: the table that it belongs to, and the attributes and keys that lead to it."""

    domain: str
    path: str


CODE_SOURCES: dict[str, tuple[CodeSource, ...]] = {
    "httpx.HTTPStatusError": (CodeSource("http", "response.status_code"),),
    "httpx2.HTTPStatusError": (CodeSource("http", "response.status_code"),),
    "requests.exceptions.HTTPError": (CodeSource("http", "response.status_code"),),
    "aiohttp.client_exceptions.ClientResponseError": (CodeSource("http", "status"),),
    "openai.APIError": (CodeSource("code", "code"), CodeSource("http", "status_code")),
    "anthropic.APIError": (CodeSource("code", "body.error.type"), CodeSource("http", "status_code")),
    "botocore.exceptions.ClientError": (
        CodeSource("code", "response.Error.Code"),
        CodeSource("http", "response.ResponseMetadata.HTTPStatusCode"),
    ),
    "grpc._channel._InactiveRpcError": (CodeSource("grpc", "_state.code._name_"),),
    "grpc._channel._Rendezvous": (CodeSource("grpc", "_state.code._name_"),),
    "grpc.aio._call.AioRpcError": (CodeSource("grpc", "_code._name_"),),
    "mcp.shared.exceptions.MCPError": (CodeSource("jsonrpc", "error.code"),),
    "mcp.shared.exceptions.McpError": (CodeSource("jsonrpc", "error.code"),),
    "sqlalchemy.exc.DBAPIError": (CodeSource("code", "orig.sqlite_errorname"),),
}
"""By type; the nearest type of the MRO that has any is asked. A message is never read."""
