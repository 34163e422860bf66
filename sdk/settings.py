"""Every setting of the part that runs inside an agent: name, environment variable, default, type, meaning."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction import RedactionPolicy
from toolwitness.redaction.policy_file import load_policy

if TYPE_CHECKING:
    from toolwitness.model.errors import OwnRule

_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _state_dir() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "toolwitness"
    try:
        return Path.home() / ".local" / "state" / "toolwitness"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"toolwitness-{os.getuid()}"


# Each reads what code or the environment gave, and raises ValueError that says what would be right and shows no value.


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"is a text, not a {type(given).__name__}")
    return given


def _optional_text(given: Any) -> str | None:
    return None if given is None else _text(given)


def _headers(given: Any) -> dict[str, str]:
    """`a=1,b=2` as OpenTelemetry writes headers in the environment, or a dictionary."""
    if isinstance(given, Mapping) and all(isinstance(part, str) for pair in given.items() for part in pair):
        return dict(given)
    if not isinstance(given, str):
        raise ValueError("is a dictionary of texts, or a text such as a=1,b=2")
    pairs = (part.partition("=") for part in given.split(",") if part.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _flag(given: Any) -> bool:
    found = given if isinstance(given, bool) else _TRUTH.get(str(given).strip().lower())
    if found is None:
        raise ValueError("is true or false")
    return found


def _number(given: Any) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    return number


def _seconds(given: Any) -> float:
    number = _number(given)
    if not 0 <= number < math.inf:
        raise ValueError("is a number of seconds, 0 or more")
    return number


def _some_seconds(given: Any) -> float:
    number = _number(given)
    if not 0 < number < math.inf:
        raise ValueError("is a number of seconds, more than 0")
    return number


def _bytes(given: Any) -> int:
    number = _number(given)
    if not (0 < number < math.inf and number.is_integer()):
        raise ValueError("is a whole number of bytes, more than 0")
    return int(number)


def _path(given: Any) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise ValueError(f"is a path, not a {type(given).__name__}")
    return Path(given)


def _policy(given: Any) -> RedactionPolicy | None:
    """A policy as it is, or the one that the file of this path declares."""
    policy = load_policy(given) if isinstance(given, str | os.PathLike) else given
    if not isinstance(policy, RedactionPolicy | None):
        raise ValueError(f"is an instance of RedactionPolicy or the path of a policy file, not a {type(given).__name__}")
    return policy


def _error_rules(given: Any) -> tuple[OwnRule, ...]:
    """Rules as they are, or those of the file of this path; what reads it is loaded only where there is one."""
    if isinstance(given, str | os.PathLike):
        from toolwitness.sdk.error_file import load_error_rules  # noqa: PLC0415 -- the start of an agent does not wait for it

        return load_error_rules(given)
    if not isinstance(given, tuple):
        raise ValueError(f"is the path of a file of error rules, not a {type(given).__name__}")
    return given


def _tools(given: Any) -> Mapping[str, ToolDefinition]:
    """Definitions by name, or those of the file of this path; what reads it is loaded only where there is one."""
    if isinstance(given, str | os.PathLike):
        from toolwitness.sdk.tool_file import load_tools  # noqa: PLC0415 -- the start of an agent does not wait for it

        return load_tools(given)
    if not isinstance(given, Mapping) or not all(isinstance(each, ToolDefinition) for each in given.values()):
        raise ValueError("is the path of a file of tools, or definitions by name")
    return given


def _setting(variable: str, read: Callable[[Any], Any], default: Any = None, **more: Any) -> Any:
    metadata = {"variable": variable, "read": read}
    return field(**({"default": default} if "default_factory" not in more else {}), metadata=metadata, **more)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How an agent's telemetry is sent. Each field may also be set by its environment variable; code wins.

    Raises SettingsError that names the field, what would be right and its environment variable.
    """

    endpoint: str = _setting("TOOLWITNESS_ENDPOINT", _text, "http://127.0.0.1:4318")
    """Base URL of the collector; `/v1/traces` is added."""
    headers: dict[str, str] = _setting("TOOLWITNESS_HEADERS", _headers, default_factory=dict)
    """Extra headers of each request, in the environment as `a=1,b=2`."""
    service: str = _setting("TOOLWITNESS_SERVICE", _text, "agent")
    """`service.name` of the spans."""
    use_otel_exporter_variables: bool = _setting("TOOLWITNESS_USE_OTEL_EXPORTER_VARIABLES", _flag, default=False)
    """Also obey `OTEL_EXPORTER_OTLP_*`. Off, so that neither spans nor keys go to the application's own vendor."""
    export_timeout_s: float = _setting("TOOLWITNESS_EXPORT_TIMEOUT", _some_seconds, 1.0)
    """Seconds that one request may take."""
    export_interval_s: float = _setting("TOOLWITNESS_EXPORT_INTERVAL", _seconds, 0.2)
    """Seconds between two requests."""
    exit_timeout_s: float = _setting("TOOLWITNESS_EXIT_TIMEOUT", _seconds, 1.8)
    """Seconds that the end of the process may wait for the last spans."""
    queue_bytes: int = _setting("TOOLWITNESS_QUEUE_BYTES", _bytes, 32 * 1024 * 1024)
    """Approximate bytes of notes that may wait for the worker; more are dropped and counted."""
    state_dir: Path = _setting("TOOLWITNESS_STATE_DIR", _path, default_factory=_state_dir)
    """Folder of the digest key, of the journal of open attempts and of what idempotency keys were made for."""
    digest_key: str | None = _setting("TOOLWITNESS_DIGEST_KEY", _optional_text, repr=False)
    """Secret of keyed digests and idempotency keys; where none is set, one is made once in the state folder."""
    policy: RedactionPolicy | None = _setting("TOOLWITNESS_POLICY", _policy)
    """Classes and what happens to them: a `RedactionPolicy`, or the path of a policy file, which is read at once."""
    error_rules: tuple[OwnRule, ...] = _setting("TOOLWITNESS_ERROR_RULES", _error_rules, ())
    """What errors of the application's own tools mean: the path of a file of error rules, which is read at once."""
    tools: Mapping[str, ToolDefinition] = _setting("TOOLWITNESS_TOOLS", _tools, default_factory=dict)
    """What tools do and whose they are, over decorators and tool servers: the path of a file of tools, read at once."""
    fingerprint_key: str | None = _setting("TOOLWITNESS_FINGERPRINT_KEY", _optional_text, repr=False)
    """Secret of fingerprints that stay comparable over runs and processes. None: a key in memory that dies with the process."""
    fingerprint_key_id: str | None = _setting("TOOLWITNESS_FINGERPRINT_KEY_ID", _optional_text)
    """Short name of that secret, which stands before each fingerprint; a new secret needs a new one."""
    tenant: str = _setting("TOOLWITNESS_TENANT", _text, "")
    """Whose data this is; fingerprints of different tenants cannot be compared."""

    def __post_init__(self) -> None:
        """Read every value; all problems are named in one error."""
        problems = []
        for each in fields(self):
            try:
                object.__setattr__(self, each.name, each.metadata["read"](getattr(self, each.name)))
            except ValueError as error:
                problems.append(f"{each.name}: {error} (environment: {each.metadata['variable']})")
        if problems:
            raise SettingsError(f"Settings cannot be used: {'; '.join(problems)}.")

    @classmethod
    def load(cls, given: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Self:
        """Settings from `given` values over the environment over the defaults.

        Raises SettingsError as the class does, and for a field that there is not.
        """
        variables = cls.variables()
        strange = sorted(given.keys() - variables.keys())
        if strange:
            raise SettingsError(f"there is no setting {', '.join(strange)}; there are {', '.join(variables)}.")
        told = {name: text for name, variable in variables.items() if (text := environ.get(variable))}
        return cls(**{**told, **given})

    @classmethod
    def usable(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Settings of the environment; one that cannot be used counts as not set, since the business goes on."""
        told: dict[str, Any] = {}
        for each in fields(cls):
            text = environ.get(each.metadata["variable"])
            with contextlib.suppress(ValueError):
                told |= {each.name: each.metadata["read"](text)} if text else {}
        return cls(**told)

    @classmethod
    def variables(cls) -> dict[str, str]:
        """The environment variable of each field."""
        return {each.name: each.metadata["variable"] for each in fields(cls)}
