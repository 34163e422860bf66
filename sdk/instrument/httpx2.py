"""httpx2, which goes on from httpx under another name."""

from toolwitness.sdk.instrument.httpx import instrument

__all__ = ["instrument"]
