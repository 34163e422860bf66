"""Receipts account for each span and add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.collector.store.receipt import Receipt

COUNTS = st.integers(0, 9)
RECEIPTS = st.builds(
    lambda stored, duplicate, rejected: Receipt(stored + duplicate + sum(rejected.values()), stored, duplicate, rejected),
    COUNTS,
    COUNTS,
    st.dictionaries(st.sampled_from(["missing_field", "not_storable"]), st.integers(1, 9)),
)


@given(RECEIPTS, RECEIPTS)
def test_the_sum_of_two_receipts_has_the_spans_of_both(first, second):
    """Each count of a sum is the sum of the counts, and the sum still accounts for each span."""
    both = first + second
    assert (both.received, both.stored, both.duplicate) == (
        first.received + second.received,
        first.stored + second.stored,
        first.duplicate + second.duplicate,
    )
    reasons = first.rejected.keys() | second.rejected.keys()
    assert both.rejected == {r: first.rejected.get(r, 0) + second.rejected.get(r, 0) for r in reasons}


def test_a_receipt_that_loses_a_span_cannot_be_made():
    """Received spans that are neither stored, duplicate nor rejected are an error."""
    with pytest.raises(ValueError, match="received 3, accounted for 2"):
        Receipt(received=3, stored=1, duplicate=1)
