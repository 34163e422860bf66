"""The page about what arrived, in a real browser."""

import pytest
from playwright.sync_api import expect

from toolwitness.replay.ingest import ingest_report, verdict
from toolwitness.replay.load import open_source
from toolwitness.tests import arrivals
from toolwitness.tests.browser.conftest import serving
from toolwitness.tests.browser.test_pages import card, cells


@pytest.fixture(name="busy", scope="module")
def fixture_busy(tmp_path_factory):
    """(URL, file) of a database into which everything came through the door."""
    db = tmp_path_factory.mktemp("busy") / "busy.duckdb"
    arrivals.fill(db)
    with serving(db) as url:
        yield url, db


@pytest.fixture(name="bypassed", scope="module")
def fixture_bypassed(tmp_path_factory):
    """URL of one into which some spans came another way."""
    db = tmp_path_factory.mktemp("bypassed") / "bypassed.duckdb"
    arrivals.fill(db, bypassing=4)
    with serving(db) as url:
        yield url


def test_the_page_shows_what_the_file_says(reader, busy):
    """Counters, verdict and every table, reached from the navigation."""
    url, db = busy
    page = reader.open(url)
    page.get_by_role("link", name="Ingest").click()
    expect(page).to_have_url(f"{url}/ingest")
    expect(page).to_have_title("Ingest - toolwitness")
    with open_source(db) as source:
        report = ingest_report(source)
    expect(card(page, "Received")).to_have_text(f"{report.spans_received:,}")
    expect(card(page, "Redacted")).to_have_text(f"{report.spans_redacted:,}")
    expect(card(page, "Redaction failures")).to_have_text(f"{report.redaction_failures:,}")
    expect(page.get_by_role("status").filter(has_text="agree")).to_contain_text(verdict(report)[0])
    assert len(cells(page, "What became of it")) == len(report.arrived)
    assert [row[-1] for row in cells(page, "Redaction failures")] == ["4 of 204", "1 of 204"]
    assert [row[-1] for row in cells(page, "Shrunk in the agent")] == ["2 of 82"]
    assert cells(page, "Sources") == [["live", "1", "42"]]
    reader.settle()
    reader.keep("ingest")


def test_spans_that_nobody_redacted_raise_an_alarm(reader, bypassed):
    """The reader is told how many, before anything else."""
    page = reader.open(f"{bypassed}/ingest")
    expect(page.get_by_role("alert")).to_contain_text("4 spans of 208 came into the file without passing the redactor")
    reader.keep("ingest-alarm")


def test_an_empty_page_says_how_to_get_data(reader, nothing):
    """As the other pages do."""
    url, db = nothing
    page = reader.open(f"{url}/ingest")
    for command in ("make demo", f"toolwitness import PATH --db {db}", "toolwitness.instrument()"):
        expect(page.locator("pre", has_text=command)).to_be_visible()


def test_the_page_in_the_dark_and_on_a_narrow_screen(reader, busy):
    """Nothing but a table's own frame scrolls sideways."""
    reader.page.emulate_media(color_scheme="dark")
    reader.page.set_viewport_size({"width": 430, "height": 900})
    page = reader.open(f"{busy[0]}/ingest")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    reader.keep("narrow-ingest")
