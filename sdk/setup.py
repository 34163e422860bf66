"""The process's one active recorder: started by `instrument()`, stopped by `uninstrument()` or the end of the process."""

from __future__ import annotations

import atexit
import itertools
import logging
import multiprocessing.util
import os
import threading
import time
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction import FingerprintKey, run_key
from toolwitness.sdk.exporting import loud_exporters, quiet_exporters
from toolwitness.sdk.guard import worker_guard
from toolwitness.sdk.idempotency import Keys, Secret
from toolwitness.sdk.late import late_imports
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.settings import Settings
from toolwitness.sdk.state import Journal, digest_key, existing_digest_key

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

logger = logging.getLogger("toolwitness")

_ORPHANS_AT_ONCE = 1000
_ORPHAN_TIMEOUT_S = 30.0
_ORPHAN_PAUSE_S = 30.0
_ORPHAN_GRACE_S = 0.5
_declared: dict[tuple[str, str], ToolDefinition] = {}


class _Active:
    """What runs now; one object, so that a fork and the end of the process find it."""

    recorder: Recorder | None = None
    silent: Recorder | None = None
    keys: Keys | None = None
    journal: Journal | None = None
    adopting: threading.Thread | None = None
    leaving = threading.Event()
    exit_timeout_s: float = 1.8
    hooked: bool = False


def active() -> Recorder | None:
    """The active recorder; None where nothing is recorded."""
    return _Active.recorder


def recorder() -> Recorder:
    """The active recorder; where nothing is recorded one that drops its notes, since keys and refusals are the business's."""
    if _Active.recorder is not None:
        return _Active.recorder
    if _Active.silent is None:
        _Active.keys = _Active.keys or _keys(Settings.usable())
        _Active.silent = Recorder(exporter=None, clock=time.time_ns, key=b"", keys=_Active.keys)
        for definition in _declared.values():
            _Active.silent.register(definition)
    return _Active.silent


def _keys(settings: Settings) -> Keys:
    """The makers of idempotency keys, which read their secret when the first is made."""
    return Keys(partial(_secret, settings), settings.state_dir / "keys", settings.error_rules)


def _secret(settings: Settings) -> Secret:
    """The configured secret, else that of the state folder, which lasts where it could be written."""
    if settings.digest_key:
        return Secret(settings.digest_key.encode(), lasts=True)
    key = digest_key(settings.state_dir)
    try:
        return Secret(key, lasts=existing_digest_key(settings.state_dir) == key)
    except OSError:
        return Secret(key, lasts=False)


def declare(definition: ToolDefinition) -> None:
    """Make a decorated tool known, now and to recorders that start later."""
    _declared[definition.server, definition.name] = definition
    for each in (_Active.recorder, _Active.silent):
        if each is not None:
            each.register(definition)


def declared() -> tuple[ToolDefinition, ...]:
    """The definitions of this process's decorated tools."""
    return tuple(_declared.values())


def decorated(tool: str) -> bool:
    """Whether a tool of this process is decorated, so that none of its executions here goes unseen."""
    return any(name == tool for _, name in _declared)


def start(
    settings: Settings, make_exporter: Callable[[], SpanExporter] | None = None, *, destination: str = "elsewhere"
) -> None:
    """Record from now on, to the collector of the settings or to where `make_exporter` says.

    `destination` names where spans go: what a process that is gone left open is shipped to its own destination alone.
    Does nothing where the application switched OpenTelemetry off by `OTEL_SDK_DISABLED`. An earlier recorder is stopped.
    """
    stop()
    _Active.keys, _Active.silent = _keys(settings), None
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return
    quiet_exporters()
    _Active.journal = Journal(settings.state_dir, destination)
    _Active.exit_timeout_s = settings.exit_timeout_s
    recorder = Recorder(
        exporter=make_exporter or partial(_otlp_exporter, settings),
        clock=time.time_ns,
        key=_Active.keys.secret.key,
        policy=settings.policy,
        fingerprints=_fingerprints(settings),
        service=settings.service,
        queue_bytes=settings.queue_bytes,
        export_interval_s=settings.export_interval_s,
        journal=_Active.journal,
        error_rules=settings.error_rules,
        tools=settings.tools,
        keys=_Active.keys,
    )
    for definition in _declared.values():
        recorder.register(definition)
    _Active.recorder = recorder
    _hook()
    _Active.leaving = threading.Event()
    work = partial(_adopt_orphans, recorder, _Active.journal, _Active.leaving)
    _Active.adopting = threading.Thread(target=work, name="toolwitness-orphans", daemon=True)
    Context().run(_Active.adopting.start)


def _otlp_exporter(settings: Settings) -> SpanExporter:
    """The exporter to `settings.endpoint`; its HTTP client takes longer to import than all of ours."""
    with late_imports:
        from toolwitness.sdk.transport import otlp_exporter  # noqa: PLC0415 -- as said above
    return otlp_exporter(settings)


def _fingerprints(settings: Settings) -> FingerprintKey:
    """The configured key; where there is none, one in memory that dies with the process.

    Raises SettingsError for a key without an id, since fingerprints under different keys must be told apart.
    """
    if settings.fingerprint_key is None:
        return run_key()
    if settings.fingerprint_key_id is None:
        raise SettingsError("fingerprint_key needs fingerprint_key_id (TOOLWITNESS_FINGERPRINT_KEY_ID), a new one for each key")
    return FingerprintKey(settings.fingerprint_key_id, settings.fingerprint_key.encode(), tenant=settings.tenant)


def _adopt_orphans(recorder: Recorder, journal: Journal, leaving: threading.Event) -> None:
    """Ship what processes that are gone left open, so that an unfinished write is known and not silently nothing.

    On a thread of its own, since the agent must not wait for a collector, and in portions, since the outbox holds so many
    spans and no more: what it would drop is for a later process.
    """
    with worker_guard:
        recorder.keys.prune()
        orphans = journal.orphans()
        while portion := list(itertools.islice(orphans, _ORPHANS_AT_ONCE)):
            for attempt in portion:
                recorder.adopt(attempt)
            while not recorder.flush(_ORPHAN_TIMEOUT_S):
                if leaving.wait(_ORPHAN_PAUSE_S):
                    return


def _hook() -> None:
    """Be called at the end of the process; children of `multiprocessing` never reach `atexit`."""
    if not _Active.hooked:
        _Active.hooked = True
        atexit.register(stop)
        multiprocessing.util.register_after_fork(_Active, lambda _: multiprocessing.util.Finalize(None, stop, exitpriority=10))


def stop() -> None:
    """Deliver what there is, within the exit timeout, and record no more."""
    recorder, _Active.recorder = _Active.recorder, None
    if recorder is not None:
        with worker_guard:
            end = time.monotonic() + _Active.exit_timeout_s
            _Active.leaving.set()
            if _Active.adopting is not None:
                _Active.adopting.join(min(_ORPHAN_GRACE_S, _Active.exit_timeout_s))
            recorder.close(max(0.0, end - time.monotonic()))
            if _Active.journal is not None:
                _Active.journal.close()
        loud_exporters()


def flush(timeout_s: float = 2.0) -> bool:
    """Wait until everything so far is delivered; False where it was not, or where nothing is recorded."""
    recorder = _Active.recorder
    return recorder is not None and recorder.flush(timeout_s)
