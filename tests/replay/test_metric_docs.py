from toolwitness.replay.metric_docs import HEADER_KEYS, metric_headers, metrics_page


def test_the_page_is_up_to_date(root):
    """docs/metrics.md is what the headers of the SQL files say."""
    assert (root / "docs" / "metrics.md").read_text(encoding="utf-8") == metrics_page()


def test_every_metric_says_what_it_counts():
    """Question, numerator, denominator, grain and exclusions stand in every header."""
    assert {frozenset(header) - {"optional"} for header in metric_headers().values()} == {frozenset(HEADER_KEYS)}


def test_the_page_names_what_narrows_a_metric():
    """Optional parameters stand below the query that takes them."""
    assert "- **optional**: source, search, limit\n" in metrics_page()
