"""Redaction: decides what of a payload may leave the process, and makes the copy that does.

`project` takes a bounded copy on the agent's own thread; `clean` turns it, elsewhere, into `Clean` or `Minimal`. Classes
come from the application's policy, the tool's schema, field names and value detectors, in that order; what none of them
knows is `unknown` and loses its content. Nothing here raises into the agent, and nothing returns an original that was not
allowed.

What the agent's own thread needs is imported at once, the detectors and what stands on them when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from toolwitness.redaction.fingerprint import FingerprintKey, run_key
from toolwitness.redaction.placeholder import is_placeholder
from toolwitness.redaction.policy import Action, Declared, Handling, RedactionPolicy
from toolwitness.redaction.projection import Projection, project

if TYPE_CHECKING:
    from toolwitness.redaction.cleaning import Clean, Minimal, clean
    from toolwitness.redaction.detect import scan_text
    from toolwitness.redaction.explaining import Explained, explain
    from toolwitness.redaction.mask import masked

__all__ = [
    "Action",
    "Clean",
    "Declared",
    "Explained",
    "FingerprintKey",
    "Handling",
    "Minimal",
    "Projection",
    "RedactionPolicy",
    "clean",
    "explain",
    "is_placeholder",
    "masked",
    "project",
    "run_key",
    "scan_text",
]

_LAZY = {
    "Clean": "cleaning",
    "Explained": "explaining",
    "Minimal": "cleaning",
    "clean": "cleaning",
    "explain": "explaining",
    "masked": "mask",
    "scan_text": "detect",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    return found
