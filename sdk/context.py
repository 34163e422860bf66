"""Which scope of ours is the current one, in a context variable of our own.

OpenTelemetry's own current context is only read, never set: what the application's spans and requests belong to stays so.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

if TYPE_CHECKING:
    from toolwitness.sdk.scope import Scope
    from toolwitness.sdk.scopes import DecisionScope

current: ContextVar[Scope | None] = ContextVar("toolwitness_scope", default=None)
latest: ContextVar[DecisionScope | None] = ContextVar("toolwitness_latest", default=None)
"""The last model step in this context. It is no parent, only a hint at whose tools run next."""


def enter(scope: Scope) -> Token[Scope | None]:
    """Make a scope the current one."""
    return current.set(scope)


def leave(token: Token[Any] | None) -> None:
    """Give a variable of ours, such as the current scope, the value that it had before.

    A generator may be closed in another context than it was opened in; there is nothing to go back to then.
    """
    if token is not None:
        try:
            token.var.reset(token)
        except ValueError:
            return


def application_trace_id() -> str | None:
    """The trace id of the application's current span, so that both can be found under one id."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
