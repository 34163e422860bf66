"""Which scope of ours is the current one, in a context variable of our own.

OpenTelemetry's current context is touched only when the application has no provider of its own: then spans inside a tool find
their parent in ours. With one, the application's traces stay exactly as they were.
"""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

if TYPE_CHECKING:
    from toolwitness.sdk.scope import Scope
    from toolwitness.sdk.scopes import DecisionScope

current: ContextVar[Scope | None] = ContextVar("toolwitness_scope", default=None)
latest: ContextVar[DecisionScope | None] = ContextVar("toolwitness_latest", default=None)
"""The last model step in this context. It is no parent, only a hint at whose tools run next."""


def enter(scope: Scope) -> Token[Scope | None]:
    """Make a scope the current one."""
    return current.set(scope)


def leave(token: Token[Scope | None]) -> None:
    """Go back to the scope before.

    A generator may be closed in another context than it was opened in; there is nothing to go back to then.
    """
    try:
        current.reset(token)
    except ValueError:
        return


def _application_has_provider() -> bool:
    # Asking OpenTelemetry while this variable is set would load the provider that it names.
    if "OTEL_PYTHON_TRACER_PROVIDER" in os.environ:
        return True
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def enter_otel(trace_id: str, span_id: str) -> Token[otel_context.Context] | None:
    """Make our span OpenTelemetry's current one where the application has no provider."""
    if _application_has_provider():
        return None
    context = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return otel_context.attach(trace.set_span_in_context(NonRecordingSpan(context)))


def leave_otel(token: Token[otel_context.Context] | None) -> None:
    """Undo `enter_otel`."""
    if token is not None:
        try:
            token.var.reset(token)
        except ValueError:
            # As in `leave`; OpenTelemetry's own `detach` would log the failure with its stack.
            return


def application_trace_id() -> str | None:
    """The trace id of the application's current span, so that both can be found under one id."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
