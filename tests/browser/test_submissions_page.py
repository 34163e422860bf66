"""The page of submissions in a real browser: found, opened, and settled by a person."""

import http.client
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from toolwitness.collector.store.store import Store
from toolwitness.dashboard.views.submissions import MOST_ROWS
from toolwitness.replay.load import open_source
from toolwitness.replay.reconcile import settle
from toolwitness.replay.runs import replay_run
from toolwitness.replay.submissions import state_counts, submission, submissions
from toolwitness.tests.browser import ledger
from toolwitness.tests.browser.conftest import STARTED, STOP_TIMEOUT_S, serving
from toolwitness.tests.browser.test_pages import card, cells


def filled(folder, **told):
    """(file, ids of calls) of the treasury agent's history."""
    db = folder / "treasury.duckdb"
    rows, calls = ledger.tell(**told)
    store = Store.open(db)
    store.write_group([rows])
    store.close()
    return db, calls


@pytest.fixture(name="treasury", scope="module")
def fixture_treasury(tmp_path_factory):
    """(URL, file, ids of calls) of a history that no test changes, long enough to be cut."""
    db, calls = filled(tmp_path_factory.mktemp("treasury"), busy=MOST_ROWS)
    with serving(db) as url:
        yield url, db, calls


@pytest.fixture(name="till")
def fixture_till(tmp_path):
    """(URL, file, ids of calls) of a history that the test may change; asked for before the reader, who leaves first."""
    db, calls = filled(tmp_path)
    with serving(db) as url:
        yield url, db, calls


def findings(db, call):
    """What was found out about a call, as the store has it."""
    with open_source(db) as source:
        return submission(source, call).replay.reconciliations


def outcome(db, call):
    """What became of a call, as the store has it."""
    with open_source(db) as source:
        return submission(source, call).outcome


def button(page, name):
    """A button of that name."""
    return page.get_by_role("button", name=name, exact=True)


def enter(reader, word, name="maria", reason="it stands in the books"):
    """Fill in the form and go on to the confirmation."""
    page = reader.page
    page.get_by_text(word, exact=True).click()
    page.get_by_role("textbox", name="Your name").fill(name)
    page.get_by_role("textbox", name="How you know").fill(reason)
    button(page, "Review").click()
    reader.settle()


COMMITTED = "Committed: it took effect"
NOT_COMMITTED = "Not committed: it took no effect, whatever had been attempted until now"


def test_the_list_is_what_the_query_gives(reader, treasury):
    """In its order, cut until all is asked for, with each figure of all writing calls; reached from the navigation."""
    url, db, _ = treasury
    page = reader.open(url)
    page.get_by_role("link", name="Submissions").click()
    expect(page).to_have_title("Submissions - toolwitness")
    with open_source(db) as source:
        listed, counts = submissions(source), state_counts(source)
    expect(card(page, "Unsettled")).to_have_text(f"{counts['unsettled']}")
    expect(page.locator(".card", has_text="Unsettled").first).to_contain_text(f"of {sum(counts.values())} writing calls")
    reader.settle()
    rows = cells(page, "Submissions")
    assert [row[0].split("\n")[0] for row in rows] == [one.tool for one in listed[:MOST_ROWS]]
    page.get_by_role("link", name="show all").click()
    expect(page.get_by_role("region", name="Submissions").locator("tbody tr")).to_have_count(len(listed))
    reader.settle()
    reader.keep("submissions")


@pytest.mark.parametrize("text", ["pay-8831", "INV-8842", "chat-81c0", "settle-inv-8831", "payments/create", "c0ffee55"])
def test_a_search_finds_by_whatever_a_call_is_known_by(reader, treasury, text):
    """Run, task, session, action, tool and call; what was searched for stands in the address."""
    url, db, _ = treasury
    page = reader.open(f"{url}/submissions")
    page.get_by_label("Find").fill(text)
    page.get_by_label("Find").press("Enter")
    with open_source(db) as source:
        found = submissions(source, search=text)
    assert found
    reader.settle()
    expect(page.get_by_role("region", name="Submissions").locator("tbody tr")).to_have_count(len(found))
    assert "q=" in page.url


def test_filters_stand_in_the_address(reader, treasury):
    """State and days narrow the list, and the figures to the same days."""
    url, db, _ = treasury
    today = time.strftime("%Y-%m-%d", time.gmtime())
    page = reader.open(f"{url}/submissions?state=Stopped+before+it+ran")
    assert [row[1].split("\n")[0] for row in cells(page, "Submissions")] == ["⊘ rejected"]
    page = reader.open(f"{url}/submissions?state=Every+writing+call&until=2020-01-01")
    expect(page.get_by_text("No writing call fits")).to_be_visible()
    page = reader.open(f"{url}/submissions?from={today}")
    midnight = int(time.time()) // 86_400 * 86_400 * 1_000_000_000
    with open_source(db) as source:
        expect(card(page, "Done")).to_have_text(f"{state_counts(source, since_ns=midnight)['done']}")


def test_a_deep_link_opens_the_account_of_a_call(reader, treasury):
    """It answers the three questions, says what is not known, and leads to the run and back to the list."""
    url, db, calls = treasury
    page = reader.open(f"{url}/submissions?call={calls.timed_out}")
    with open_source(db) as source:
        one = submission(source, calls.timed_out)
    answers = page.locator(".answer")
    expect(answers).to_contain_text(["Not known", one.why, ledger.PAYMENTS_TEAM])
    for sentence in (*one.known, *one.unknown):
        expect(page.get_by_text(sentence, exact=True).first).to_be_visible()
    expect(page.get_by_role("link", name=f"call {calls.repeated}")).to_be_visible()
    reader.keep("submission")
    page.get_by_role("link", name="settle invoice INV-8831").click()
    expect(page).to_have_url(f"{url}/replay?run=pay-8831")
    reader.settle()
    page.go_back()
    page.get_by_role("link", name="All submissions").click()
    expect(page.get_by_role("region", name="Submissions")).to_be_visible()


def test_a_call_that_never_told_of_itself_is_all_unknown(reader, treasury):
    """After a crash the page shows neither blanks nor zeros."""
    url, _, calls = treasury
    page = reader.open(f"{url}/submissions?call={calls.crashed}")
    for fact in ("Agent", "Session", "Action id"):
        expect(page.locator("dl.facts > div", has=page.get_by_text(fact, exact=True))).to_contain_text("unknown")
    expect(page.get_by_text("What was asked: its arguments are not recorded.")).to_be_visible()
    assert (
        page.locator("dl.facts dd").filter(has_not_text="x").evaluate_all("all => all.filter(one => !one.innerText.trim())")
        == []
    )


def test_a_wrong_link_says_so(reader, treasury):
    """And leads to what is there."""
    page = reader.open(f"{treasury[0]}/submissions?call=nope")
    expect(page.get_by_role("alert")).to_contain_text("nope")
    page.get_by_role("link", name="All submissions").click()
    expect(page.get_by_role("region", name="Submissions")).to_be_visible()


def test_a_person_settles_a_call(till, reader):
    """What will be recorded is read back; then it is, once, and the page and the list show the new state."""
    url, db, calls = till
    page = reader.open(f"{url}/submissions?call={calls.crashed}")
    enter(reader, NOT_COMMITTED)
    told = page.get_by_role("group", name="What will be recorded")
    for part in (calls.crashed, "not committed", "maria", "it stands in the books", "cannot be undone", "may yet take effect"):
        expect(told).to_contain_text(part)
    assert findings(db, calls.crashed) == ()
    reader.keep("submission-confirm")
    button(page, "Record it").dblclick()
    expect(page.get_by_role("status")).to_contain_text("Recorded: not committed, said by maria.")
    expect(page.get_by_role("heading", name="create_payment").first).to_contain_text("failed")
    reader.settle()
    (found,) = findings(db, calls.crashed)
    assert (found.finding, found.found_by, found.reason) == ("not_committed", "maria", "it stands in the books")
    assert outcome(db, calls.crashed) == "failed"
    reader.keep("submission-settled")
    page.reload()
    reader.settle()
    assert len(findings(db, calls.crashed)) == 1


def test_nothing_is_written_without_the_confirmation(till, reader):
    """Not with half a form, not by a review, not by going back or away; what was entered is still there."""
    url, db, calls = till
    page = reader.open(f"{url}/submissions?call={calls.timed_out}")
    button(page, "Review").click()
    expect(page.get_by_role("alert")).to_contain_text("Still needed: what was found out, your name, how you know.")
    reader.settle()
    enter(reader, COMMITTED)
    button(page, "Go back").click()
    expect(page.get_by_role("textbox", name="How you know")).to_have_value("it stands in the books")
    expect(page.get_by_role("radio", name="Committed: it took effect", exact=True)).to_be_checked()
    reader.settle()
    button(page, "Review").click()
    reader.settle()
    page.get_by_role("link", name="All submissions").click()
    reader.settle()
    reader.open(f"{url}/submissions?call={calls.timed_out}")
    assert findings(db, calls.timed_out) == ()


def test_a_refusal_is_shown_as_it_is(till, reader):
    """A call that may still take effect cannot be settled as one that did not."""
    url, db, calls = till
    page = reader.open(f"{url}/submissions?call={calls.running}")
    enter(reader, NOT_COMMITTED)
    button(page, "Record it").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "cannot be settled as not_committed: it is pending and may still take effect"
    )
    assert findings(db, calls.running) == ()


def test_what_became_known_meanwhile_comes_first(till, reader):
    """Somebody else's word between review and confirmation keeps this one from being recorded unseen."""
    url, db, calls = till
    page = reader.open(f"{url}/submissions?call={calls.long}")
    enter(reader, NOT_COMMITTED)
    with open_source(db) as source:
        settle(source, calls.long, "committed", by="ann", reason="the requisition is open in the portal")
    button(page, "Record it").click()
    expect(page.get_by_role("alert")).to_contain_text("something became known of this call meanwhile")
    assert [found.found_by for found in findings(db, calls.long)] == ["ann"]


def test_a_reason_is_stored_redacted(till, reader):
    """An address in what a person writes is in no record."""
    url, db, calls = till
    page = reader.open(f"{url}/submissions?call={calls.timed_out}")
    enter(reader, COMMITTED, reason="bob@example.org says so")
    button(page, "Record it").click()
    expect(page.get_by_role("status")).to_contain_text("Recorded")
    reader.settle()
    assert "bob@example.org" not in page.content()
    with open_source(db) as source:
        assert "bob@example.org" not in str(replay_run(source, "pay-8831"))


# -- pages that live apart ---------------------------------------------------------------------------------------------


@contextmanager
def pages_over(url):
    """The URL of pages in a process of their own that read a toolwitness at `url`."""
    command = [sys.executable, "-m", "toolwitness.tests.browser.apart", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield STARTED.search(process.stdout.readline())[1]
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        process.stdout.close()


@contextmanager
def forgetful(url):
    """The URL of a gateway to `url` that hands spans on and then drops the connection in place of the answer."""

    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self):
            connection = http.client.HTTPConnection(urlsplit(url).netloc)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            connection.request("POST", self.path, body, {"Content-Type": self.headers["Content-Type"]})
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if self.path == "/v1/traces":
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            """Keep the terminal clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_call_is_settled_from_pages_that_live_apart(till, reader):
    """The word goes to the toolwitness that holds the file."""
    url, db, calls = till
    with pages_over(url) as pages:
        page = reader.open(f"{pages}/submissions?call={calls.timed_out}")
        enter(reader, COMMITTED)
        button(page, "Record it").click()
        expect(page.get_by_role("status")).to_contain_text("Recorded: committed, said by maria.")
        reader.settle()
        page.goto("about:blank")
    assert [found.finding for found in findings(db, calls.timed_out)] == ["committed"]


def test_a_word_whose_answer_is_lost_is_neither_recorded_nor_not(till, reader):
    """The page says that nobody knows, and shows what is found there now."""
    url, db, calls = till
    with forgetful(url) as gateway, pages_over(gateway) as pages:
        page = reader.open(f"{pages}/submissions?call={calls.timed_out}")
        enter(reader, COMMITTED)
        button(page, "Record it").click()
        expect(page.get_by_role("alert")).to_contain_text("It is not known whether this was recorded")
        expect(page.get_by_role("region", name="call of create_payment")).to_contain_text("it stands in the books")
        reader.settle()
        page.goto("about:blank")
    assert len(findings(db, calls.timed_out)) == 1


def test_the_page_in_the_dark_and_on_a_narrow_screen(reader, treasury):
    """Nothing but a table's own frame scrolls sideways, whatever the length of a name."""
    url, _, calls = treasury
    reader.page.emulate_media(color_scheme="dark")
    for path, name in (("", "submissions"), (f"?call={calls.long}", "submission")):
        page = reader.open(f"{url}/submissions{path}")
        reader.keep(f"dark-{name}")
        page.set_viewport_size({"width": 430, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        reader.keep(f"narrow-{name}")
        page.set_viewport_size({"width": 1440, "height": 900})
