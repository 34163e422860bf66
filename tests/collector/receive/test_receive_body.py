import gzip
import zlib

import pytest

from toolwitness.collector.receive.body import Intake, Share, inflate
from toolwitness.collector.receive.refusal import Refusal, RefusedError

TEXT = b"spans " * 1000


def refused(body, encoding, limit=10_000):
    """The reason for which the body is refused."""
    with pytest.raises(RefusedError) as caught:
        inflate(body, encoding, limit)
    return caught.value.answer.reason


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (TEXT, "identity"),
        (gzip.compress(TEXT), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (gzip.compress(TEXT[:7]) + gzip.compress(TEXT[7:]), "gzip"),
    ],
    ids=["identity", "gzip", "deflate", "gzip members"],
)
def test_bodies_of_every_encoding_are_read(body, encoding):
    """Plain, gzip, deflate, and several gzip members in a row."""
    assert inflate(body, encoding, 10_000) == TEXT


def test_a_body_of_exactly_the_limit_is_taken():
    """The limit itself is allowed, one byte more is not."""
    assert len(inflate(gzip.compress(TEXT), "gzip", len(TEXT))) == len(TEXT)
    assert refused(gzip.compress(TEXT), "gzip", len(TEXT) - 1) == "http_413_too_large"


def test_several_members_share_one_limit():
    """A bomb in parts is a bomb."""
    assert refused(gzip.compress(TEXT) * 2, "gzip", len(TEXT) + 1) == "http_413_too_large"


def test_an_empty_body_is_empty_in_every_encoding():
    """An empty request is a request."""
    assert inflate(b"", "gzip", 10) == b""


@pytest.mark.parametrize("cut", [1, 10, 20])
def test_a_cut_body_is_told_from_a_broken_one(cut):
    """The sender of a cut one can send it again; a broken one is broken."""
    assert refused(gzip.compress(TEXT)[:-cut], "gzip") == "http_400_truncated_compression"
    assert refused(b"\x1f\x8b" + b"x" * 30, "gzip") == "http_400_broken_compression"


def test_the_intake_gives_back_what_a_request_held():
    """Too much at once is refused with 503, and later it fits."""
    intake = Intake(100)
    with Share(intake) as first:
        first.take(80)
        with pytest.raises(RefusedError) as caught, Share(intake) as second:
            second.take(30)
    assert caught.value.answer is Refusal.QUEUE_FULL.value
    with Share(intake) as third:
        third.take(100)


def test_every_refusal_is_named_by_its_status():
    """`http_STATUS_what`, each name once."""
    answers = [refusal.value for refusal in Refusal]
    assert all(answer.reason.startswith(f"http_{answer.status}_") for answer in answers)
    assert len({answer.reason for answer in answers}) == len(answers)
