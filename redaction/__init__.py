"""Redaction: decides what of a payload may leave the process, and makes the copy that does.

`project` takes a bounded copy on the agent's own thread; `clean` turns it, elsewhere, into `Clean` or `Minimal`. Classes
come from the application's policy, the tool's schema, field names and value detectors, in that order; what none of them
knows is `unknown` and loses its content. Nothing here raises into the agent, and nothing returns an original that was not
allowed.
"""

from toolwitness.redaction.clean import Clean, Minimal, clean
from toolwitness.redaction.detect import scan_text
from toolwitness.redaction.explain import Explained, explain
from toolwitness.redaction.fingerprint import FingerprintKey, run_key
from toolwitness.redaction.placeholder import is_placeholder
from toolwitness.redaction.policy import Action, Declared, Handling, RedactionPolicy
from toolwitness.redaction.projection import Projection, project

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
    "project",
    "run_key",
    "scan_text",
]
