"""Keyed fingerprints: equal values can be seen to be equal, and nobody without the key can try values out.

HMAC-SHA256, cut to 128 bits (RFC 2104), under a key that HKDF (RFC 5869) derives for tenant, scope and class. A key of scope
`run` is drawn at random, stays in memory and dies with the process, so that no dictionary can be tried on stored values
later. A key of scope `tenant` is configured, for joins over weeks; it is to be changed no oftener than the window that is
compared, and destroyed when the records' time is over.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from dataclasses import dataclass, field
from typing import Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import SettingsError

__all__ = ["FingerprintKey", "run_key"]

_KEY_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}")
_SHORTEST_KEY: Final = 16
_SHORTEST_TEXT: Final = 6
_SHORTEST_NUMBER: Final = 1_000_000
_ENUMERABLE: Final = re.compile(
    r"[0-9]{1,6}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}|(?i:true|false|null|none|yes|no)"
)
"""Values of which there are so few that all of them could be tried: short numbers, dates, words for yes and no."""


@dataclass(frozen=True, slots=True)
class FingerprintKey:
    """One key with its id, which stands before every fingerprint: only fingerprints of one id may be compared.

    Raises:
        SettingsError: the id is no short word, or the secret has fewer than 16 bytes.
    """

    kid: str
    secret: bytes = field(repr=False)
    scope: str = "tenant"
    tenant: str = ""
    _derived: dict[PrivacyClass, bytes] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Check the key."""
        if not _KEY_ID.fullmatch(self.kid):
            raise SettingsError(f"a key id is 1 to 16 letters, digits, dots or dashes, not {self.kid!r}")
        if len(self.secret) < _SHORTEST_KEY:
            raise SettingsError(f"a fingerprint key needs at least {_SHORTEST_KEY} bytes; this one has {len(self.secret)}")

    def of(self, value: str | float, cls: PrivacyClass) -> str | None:
        """Return the fingerprint of a value as `kid:hex`, or None for a secret and for what could be found by trying."""
        if cls is PrivacyClass.SECRET or not _worth(value):
            return None
        kind = "string" if type(value) is str else "number"
        mac = hmac.digest(self._key(cls), f"{kind}\x1f{value}".encode("utf-8", "surrogatepass"), "sha256")
        return f"{self.kid}:{mac[:16].hex()}"

    def _key(self, cls: PrivacyClass) -> bytes:
        key = self._derived.get(cls)
        if key is None:
            extracted = hmac.digest(b"toolwitness fingerprint", self.secret, "sha256")
            purpose = f"{self.tenant}\x1f{self.scope}\x1f{cls.value}".encode()
            key = self._derived[cls] = hmac.digest(extracted, purpose + b"\x01", hashlib.sha256)
        return key


def run_key() -> FingerprintKey:
    """Return a key of scope `run`, fresh from the system's source of randomness."""
    return FingerprintKey(f"r{os.urandom(4).hex()}", os.urandom(32), scope="run")


def _worth(value: str | float) -> bool:
    if type(value) is str:
        return len(value) >= _SHORTEST_TEXT and _ENUMERABLE.fullmatch(value) is None
    return type(value) is not int or abs(value) >= _SHORTEST_NUMBER
