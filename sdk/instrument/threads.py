"""Threads and thread pools: what runs there belongs to the call, decision or run that it was started or submitted in.

A thread takes along what is current where it is started, and keeps it; one that outlives a call goes on in the call's run.
A pool's threads take nothing along, since they outlive what they were started for: each submitted function does. Without a
scope of ours nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolwitness.sdk import carry
from toolwitness.sdk.carry import NOTHING, Carried
from toolwitness.sdk.instrument.patching import Patches

_starting: dict[int, Carried] = {}
"""What threads take along that are being started, by the thread's `id`: it lives as long as `start` runs."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the start of threads, and handing work to a pool of them.

    A thread's `run` is often a subclass's own. Its beginning is the only method that runs in every new thread, below the frames
    that an uncaught exception shows.
    """
    patches.methods(module.Thread, {"start": _start, "_bootstrap_inner": _begin})
    patches.when_imported(
        "concurrent.futures.thread", lambda found: patches.method(found.ThreadPoolExecutor, "submit", _submit)
    )


def _start(wrapped: Callable[..., Any], thread: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    carried = carry.pick_up()
    if carried is None:
        return wrapped(*args, **kwargs)
    _starting[id(thread)] = carried
    try:
        return wrapped(*args, **kwargs)  # returns when the thread has begun
    finally:
        _starting.pop(id(thread), None)


def _begin(wrapped: Callable[..., Any], thread: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    carried = _starting.pop(id(thread), None)
    if carried is not None:
        carried.settle()
    del carried
    return wrapped(*args, **kwargs)


def _submit(wrapped: Callable[..., Any], _pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    carried = carry.pick_up()
    if carried is None or not args:
        return wrapped(*args, **kwargs)
    return NOTHING.call(wrapped, carried.call, *args, **kwargs)
