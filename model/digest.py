"""Content digests: canonical JSON and SHA-256 over it (A5), and keyed digests for values that must not be guessed."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import Any, NewType

KeyedDigest = NewType("KeyedDigest", str)
"""The first 128 bits of an HMAC-SHA256, as 32 hex digits."""


def _as_json(value: object) -> str:
    """Stand in for a value that JSON does not have, by its type alone."""
    return f"<{type(value).__name__}>"


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_as_json)


def _string_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key, default=_as_json): _string_keys(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_string_keys(item) for item in value]
    return value


def canonical_json(value: Any) -> str:
    """JSON text with sorted keys, no white space and exact integers; total on every value that is not cyclic.

    Tuples become arrays, keys that are no strings their own JSON, and values that JSON does not have their type's name.
    """
    return _CANONICAL.encode(_string_keys(value))


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as 64 hex digits."""
    return hashlib.sha256(_octets(canonical_json(value))).hexdigest()


def keyed_digest(key: bytes, value: Any) -> KeyedDigest:
    """HMAC-SHA256 of the canonical JSON under `key`, its first 128 bits as 32 hex digits."""
    return KeyedDigest(hmac.digest(key, _octets(canonical_json(value)), "sha256").hex()[:32])


def subject_digest(key: bytes, subject: str) -> KeyedDigest:
    """What is stored of the one that a run is about; the id itself is stored nowhere (B7)."""
    return keyed_digest(key, ["subject", subject])


_SECRET_DIGITS = 8


def key_digest(secret: bytes, key: str) -> KeyedDigest:
    """What is recorded of an idempotency key that the application gave; the key itself is recorded nowhere.

    Its last 32 bits tell the secret, so that a key that is compared under another secret is not taken for another key.
    """
    return _naming(secret, keyed_digest(secret, ["idempotency_key", key]))


_FIRST_DIGITS = 32
_DERIVED_KEY = re.compile(rf"[0-9a-f]{{{_FIRST_DIGITS},64}}")


def derived_key_digest(secret: bytes, key: str) -> KeyedDigest | None:
    """What is recorded of a key that was derived here, 64 hex digits; None for what is none.

    It goes by the first 32 digits alone, in either case and with or without the dashes of a UUID, since services that take less
    are sent no more, and list what they were sent.
    """
    digits = key.replace("-", "").lower()
    if not _DERIVED_KEY.fullmatch(digits):
        return None
    return _naming(secret, keyed_digest(secret, ["derived_idempotency_key", digits[:_FIRST_DIGITS]]))


def _naming(secret: bytes, told: KeyedDigest) -> KeyedDigest:
    return KeyedDigest(told[:-_SECRET_DIGITS] + _secret_digits(secret))


def is_under(secret: bytes, recorded: str) -> bool:
    """Whether the digest of a key was made under this secret."""
    return recorded.endswith(_secret_digits(secret))


def _secret_digits(secret: bytes) -> str:
    return keyed_digest(secret, ["secret"])[:_SECRET_DIGITS]
