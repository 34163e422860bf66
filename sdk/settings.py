"""Every setting of the part that runs inside an agent: name, environment variable, default, type, meaning."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, ValidationError

from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction import RedactionPolicy
from toolwitness.redaction.policy_file import load_policy


def _state_dir() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "toolwitness"
    try:
        return Path.home() / ".local" / "state" / "toolwitness"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"toolwitness-{os.getuid()}"


def _headers(text: str) -> dict[str, str]:
    """`a=1,b=2` as OpenTelemetry writes headers in the environment."""
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _policy(given: Any) -> Any:
    """A policy as it is, or the one that the file of this path declares."""
    return load_policy(given) if isinstance(given, str | os.PathLike) else given


class Settings(BaseModel):
    """How an agent's telemetry is sent. Each field may also be set by its environment variable; code wins."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: Annotated[str, Field(json_schema_extra={"env": "TOOLWITNESS_ENDPOINT"})] = "http://127.0.0.1:4318"
    """Base URL of the collector; `/v1/traces` is added."""
    headers: Annotated[dict[str, str], Field(json_schema_extra={"env": "TOOLWITNESS_HEADERS"})] = Field(default_factory=dict)
    """Extra headers of each request, in the environment as `a=1,b=2`."""
    service: Annotated[str, Field(json_schema_extra={"env": "TOOLWITNESS_SERVICE"})] = "agent"
    """`service.name` of the spans."""
    use_otel_exporter_variables: Annotated[
        bool, Field(json_schema_extra={"env": "TOOLWITNESS_USE_OTEL_EXPORTER_VARIABLES"})
    ] = False
    """Also obey `OTEL_EXPORTER_OTLP_*`. Off, so that neither spans nor keys go to the application's own vendor."""
    export_timeout_s: Annotated[float, Field(gt=0, json_schema_extra={"env": "TOOLWITNESS_EXPORT_TIMEOUT"})] = 1.0
    """Seconds that one request may take, retries included."""
    export_interval_s: Annotated[float, Field(ge=0, json_schema_extra={"env": "TOOLWITNESS_EXPORT_INTERVAL"})] = 0.2
    """Seconds between two requests."""
    exit_timeout_s: Annotated[float, Field(ge=0, json_schema_extra={"env": "TOOLWITNESS_EXIT_TIMEOUT"})] = 2.0
    """Seconds that the end of the process may wait for the last spans."""
    queue_bytes: Annotated[int, Field(gt=0, json_schema_extra={"env": "TOOLWITNESS_QUEUE_BYTES"})] = 32 * 1024 * 1024
    """Approximate bytes of notes that may wait for the worker; more are dropped and counted."""
    state_dir: Annotated[Path, Field(json_schema_extra={"env": "TOOLWITNESS_STATE_DIR"})] = Field(default_factory=_state_dir)
    """Folder of the digest key and of the journal of open attempts."""
    digest_key: Annotated[str | None, Field(repr=False, json_schema_extra={"env": "TOOLWITNESS_DIGEST_KEY"})] = None
    """Secret of keyed digests; where none is set, one is made once in the state folder."""
    policy: Annotated[
        InstanceOf[RedactionPolicy] | None,
        BeforeValidator(_policy),
        Field(json_schema_extra={"env": "TOOLWITNESS_POLICY"}),
    ] = None
    """Classes and what happens to them: a `RedactionPolicy`, or the path of a policy file, which is read at once."""
    fingerprint_key: Annotated[str | None, Field(repr=False, json_schema_extra={"env": "TOOLWITNESS_FINGERPRINT_KEY"})] = None
    """Secret of fingerprints that stay comparable over runs and processes. None: a key in memory that dies with the process."""
    fingerprint_key_id: Annotated[str | None, Field(json_schema_extra={"env": "TOOLWITNESS_FINGERPRINT_KEY_ID"})] = None
    """Short name of that secret, which stands before each fingerprint; a new secret needs a new one."""
    tenant: Annotated[str, Field(json_schema_extra={"env": "TOOLWITNESS_TENANT"})] = ""
    """Whose data this is; fingerprints of different tenants cannot be compared."""

    @classmethod
    def load(cls, given: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Self:
        """Settings from `given` values over the environment over the defaults.

        Raises SettingsError that names the field, what was seen and its environment variable.
        """
        values: dict[str, Any] = {}
        for name, variable in cls.variables().items():
            text = environ.get(variable)
            if text:
                values[name] = _headers(text) if name == "headers" else text
        values.update(given)
        try:
            return cls(**values)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, p['loc']))}: {p['msg']} (environment: {cls.variables().get(str(p['loc'][0]), 'none')})"
                for p in error.errors(include_input=False, include_url=False)
            )
            raise SettingsError(f"Settings cannot be used: {problems}.") from None

    @classmethod
    def variables(cls) -> dict[str, str]:
        """The environment variable of each field."""
        return {
            name: str(field.json_schema_extra["env"])
            for name, field in cls.model_fields.items()
            if isinstance(field.json_schema_extra, dict)
        }
