from playwright.sync_api import expect

from toolwitness.dashboard.views.tool_health import MOST_ROWS
from toolwitness.replay import metrics
from toolwitness.replay.honest import no_utilisation
from toolwitness.replay.load import open_source
from toolwitness.replay.runs import replay_run


def card(page, label):
    """The text of the value in the headline figure of that label."""
    return page.locator(".card", has=page.get_by_text(label, exact=True)).locator(".value")


def cells(page, caption):
    """The text of every cell of a table, row by row."""
    rows = page.get_by_role("region", name=caption).locator("tbody tr")
    return rows.evaluate_all("rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))")


def expect_figures(page, db, origin=None):
    """The headline figures and the table of tools are those that the queries give."""
    with open_source(db) as source:
        totals = metrics.overview(source, origin=origin)
        tools = metrics.tool_health(source, origin=origin)
    for label, key in (
        ("Runs", "runs"),
        ("Calls", "calls"),
        ("Calls in error", "errors"),
        ("Unknown commits", "unknown_commits"),
    ):
        expect(card(page, label)).to_have_text(f"{totals[key]:,}")
    shown = {tuple(reversed((*row[0].split("\n"), "")[:2])): row[1:] for row in cells(page, "Tool health by tool")}
    assert set(shown) == {(tool["server"], tool["tool"]) for tool in tools.iter_rows(named=True)}
    for tool in tools.iter_rows(named=True):
        calls, _, selection, *of_calls, fitting, used = shown[tool["server"], tool["tool"]]
        if not tool["calls"]:
            assert (calls, *of_calls, fitting, used) == ("no calls", "", "", "", "", "", "")
            continue
        assert calls == f"{tool['calls']:,}"
        parts = ("errors", "timeouts", "unknown_commits", "rejected")
        assert of_calls == [f"{tool[part]:,} of {tool['calls']:,}" for part in parts]
        checked = tool["arguments_checked"]
        assert fitting.split("\n")[0] == (f"{tool['arguments_valid']:,} of {checked:,}" if checked else "schema unknown")
        seen = f"{tool['selected_visible']:,} of {tool['visible']:,}"
        assert selection.endswith(seen if tool["visible"] else "visibility unknown")
        could = tool["utilisation_denominator"]
        why = no_utilisation(**{name: tool[name] for name in ("calls", "errors", "measured", "not_measurable")})
        assert used == (f"{tool['utilisation_either']:,} of {could:,}" if could else why)


def test_tool_health_shows_what_the_queries_give(reader, office):
    """Every figure of the page is the store's, and demo data among it is labelled."""
    url, db = office
    page = reader.open(url)
    expect_figures(page, db)
    expect(page.get_by_role("note")).to_contain_text("Demo data.")
    reader.keep("tool-health")


def test_a_week_in_the_address_narrows_the_figures(reader, office):
    """A link to a week shows that week's figures, under the path that the page is known by too."""
    url, db = office
    page = reader.open(f"{url}/tool-health?week=2026-W46")
    expect(page).to_have_url(f"{url}/?week=2026-W46")
    with open_source(db) as source:
        (week,) = metrics.weekly_totals(source).filter(week="2026-W46").to_dicts()
    expect(card(page, "Calls")).to_have_text(f"{week['calls']}")
    expect(page.get_by_role("combobox", name="Week")).to_have_value("2026-W46")


def test_tool_health_of_one_source(reader, office):
    """Every figure is that source's, a tool's calls too; demo data is labelled where it is shown and nowhere else."""
    url, db = office
    page = reader.open(f"{url}/?source=live")
    expect_figures(page, db, origin="live")
    expect(page.get_by_role("note")).to_have_count(0)
    page.get_by_role("link", name="search_mail").click()
    expect(page.get_by_role("heading", name="Calls of mail / search_mail")).to_be_visible()
    with open_source(db) as source:
        calls = metrics.tool_calls(source, "mail", "search_mail", origin="live")
    assert len(cells(page, "Calls of mail / search_mail")) == min(calls.height, MOST_ROWS)
    assert "source=live" in page.url
    # A list that is opened while the page still scrolls closes at once.
    page.get_by_role("heading", name="Tool health").scroll_into_view_if_needed()
    expect(page.get_by_role("heading", name="Tool health")).to_be_in_viewport()
    reader.settle()
    page.get_by_role("combobox", name="Source").click()
    page.get_by_role("option", name="demo").click()
    expect(page.get_by_role("note")).to_contain_text("scripted agent that comes with toolwitness")


def test_an_order_is_kept_from_link_to_link(reader, office):
    """The tools stay in the order that was chosen when the calls of one are shown."""
    url, db = office
    with open_source(db) as source:
        most = metrics.tool_health(source).sort("unknown_commits", descending=True)["tool"][0]
    page = reader.open(url)
    page.get_by_role("combobox", name="Order").click()
    page.get_by_role("option", name="Most unknown commits").click()
    expect(page.get_by_role("region", name="Tool health by tool").locator("tbody tr").first).to_contain_text(most)
    page.get_by_role("link", name="search_mail").click()
    expect(page.get_by_role("heading", name="Calls of mail / search_mail")).to_be_visible()
    reader.settle()
    expect(page.get_by_role("combobox", name="Order")).to_have_value("Most unknown commits")
    assert cells(page, "Tool health by tool")[0][0].startswith(most)


def test_failed_runs_without_demo_runs_among_them_have_no_banner(reader, office):
    """The label follows the rows that are shown, not what else the file holds."""
    url, db = office
    with open_source(db) as source:
        failed = metrics.failed_runs(source)
    for week in failed["week"].unique():
        page = reader.open(f"{url}/failed-runs?week={week}")
        shown = "demo" in failed.filter(week=week)["source"]
        expect(page.get_by_text("Demo data.")).to_have_count(int(shown))


def test_from_a_tool_to_its_calls_to_a_replay(reader, office):
    """Two clicks lead from a tool to what happened in one run, without loading the application again."""
    url, db = office
    page = reader.open(url)
    page.evaluate("window.stillHere = true")
    page.get_by_role("link", name="book_room").click()
    expect(page.get_by_role("heading", name="Calls of rooms / book_room")).to_be_in_viewport()
    with open_source(db) as source:
        calls = metrics.tool_calls(source, "rooms", "book_room")
    assert len(cells(page, "Calls of rooms / book_room")) == calls.height
    reader.settle()
    reader.keep("tool-calls")
    page.get_by_role("link", name="task book 4").click()
    expect(page).to_have_url(f"{url}/replay?run=live-w4-trouble")
    expect(page.get_by_role("heading", name="Task book 4")).to_be_visible()
    expect(page).to_have_title("Task book 4 - Replay - toolwitness")
    assert page.evaluate("window.stillHere")


def test_back_returns_to_where_the_reader_was(reader, office):
    """Every click is one step of the browser's history: from a replay to the calls of the tool, to the tools, and forward."""
    url, _ = office
    page = reader.open(url)
    calls_of = page.get_by_role("heading", name="Calls of rooms / book_room")
    page.get_by_role("link", name="book_room").click()
    expect(calls_of).to_be_visible()
    reader.settle()
    at_calls = page.url
    page.get_by_role("link", name="task book 4").click()
    expect(page.get_by_role("heading", name="Task book 4")).to_be_visible()
    reader.settle()
    page.go_back()
    expect(calls_of).to_be_visible()
    expect(page).to_have_url(at_calls)
    reader.settle()
    page.go_back()
    expect(calls_of).to_have_count(0)
    expect(page.get_by_role("region", name="Tool health by tool")).to_be_visible()
    reader.settle()
    page.go_forward()
    expect(calls_of).to_be_visible()
    expect(page).to_have_url(at_calls)


def test_back_returns_to_the_search_that_found_the_run(reader, office):
    """The runs that were found stand there again, and what was searched for; a link from the replay leads there too."""
    page = reader.open(f"{office[0]}/replay?q=book+3&source=live")
    found = page.get_by_role("link", name="task book")
    found.click()
    expect(page.get_by_role("heading", name="Task book 3")).to_be_visible()
    reader.settle()
    page.go_back()
    expect(found).to_have_text(["task book 3, trial 0"])
    expect(page.get_by_label("Find a run")).to_have_value("book 3")
    expect(page.get_by_role("combobox", name="Source")).to_have_value("live")


def test_a_long_list_is_cut_until_all_is_asked_for(reader, office):
    """The address says that all calls are shown."""
    url, db = office
    page = reader.open(f"{url}/?server=mail&tool=search_mail")
    with open_source(db) as source:
        calls = metrics.tool_calls(source, "mail", "search_mail")
    assert calls.height > MOST_ROWS
    assert len(cells(page, "Calls of mail / search_mail")) == MOST_ROWS
    page.get_by_role("link", name="show all calls").click()
    expect(page.get_by_role("region", name="Calls of mail / search_mail").locator("tbody tr")).to_have_count(calls.height)
    assert "all=calls" in page.url


def test_failed_runs_are_listed_with_their_first_problem(reader, office):
    """The list is the query's, in its order, and leads to the replays."""
    url, db = office
    page = reader.open(f"{url}/failed-runs")
    with open_source(db) as source:
        failed = metrics.failed_runs(source)
    rows = cells(page, "Failed runs")
    problems = [problem.replace("_", " ") for problem in failed["first_problem"]]
    assert [problem in row[1] for problem, row in zip(problems, rows, strict=True)] == [True] * failed.height
    reader.keep("failed-runs")
    page.get_by_role("link", name="task book 4").click()
    expect(page).to_have_url(f"{url}/replay?run=live-w4-trouble")


def test_failed_runs_of_one_source(reader, office):
    """A source in the address leaves the other sources out, and another choice is kept there in its place."""
    url, db = office
    page = reader.open(f"{url}/failed-runs?source=demo")
    with open_source(db) as source:
        failed = metrics.failed_runs(source, origin="demo")
    assert len(cells(page, "Failed runs")) == failed.height
    expect(page.get_by_role("note")).to_contain_text("scripted agent that comes with toolwitness")
    page.get_by_role("combobox", name="Source").click()
    page.get_by_role("option", name="live").click()
    expect(page).to_have_url(f"{url}/failed-runs?source=live")
    expect(page.get_by_role("note")).to_have_count(0)


def test_a_replay_shows_every_step(reader, office):
    """A deep link opens the run step by step; what was redacted is a chip and a made-up tool name no element."""
    url, db = office
    page = reader.open(f"{url}/replay?run=live-w4-trouble")
    with open_source(db) as source:
        run = replay_run(source, "live-w4-trouble")
    expect(page.locator("details.step")).to_have_count(len(run.steps))
    for at in range(1, len(run.steps)):
        page.locator("details.step > summary").nth(at).click()
    for call in run.calls:
        shown = page.get_by_label(f"call of {call.tool}")
        expect(shown.locator("h4")).to_contain_text(call.outcome.replace("_", " "))
    expect(page.get_by_text("[redacted: personal string, 9-16 chars, email]").first).to_be_visible()
    expect(page.locator(".tw img")).to_have_count(0)
    reader.keep("replay")


def test_a_run_is_found_by_its_task(reader, office):
    """A wrong link says so and offers the runs that are there; a part of the task finds the one that was meant."""
    page = reader.open(f"{office[0]}/replay?run=nope")
    expect(page.get_by_role("alert")).to_contain_text("nope")
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("region", name="Runs")).to_be_visible()
    reader.keep("replay-choose")
    page.get_by_label("Find a run").fill("book 3")
    page.get_by_label("Find a run").press("Enter")
    expect(page.get_by_role("link", name="task book")).to_have_text(["task book 3, trial 0"])


def test_an_empty_page_says_how_to_get_data(reader, nothing):
    """On each page a new user is told the exact commands."""
    url, db = nothing
    page = reader.open(url)
    for title in ("Tool health", "Failed runs", "Replay"):
        page.get_by_role("link", name=title).click()
        expect(page.get_by_role("heading", name=title)).to_be_visible()
        for command in ("make demo", f"toolwitness import PATH --db {db}", "toolwitness.instrument()"):
            expect(page.locator("pre", has_text=command)).to_be_visible()
    reader.keep("empty")


def test_imported_runs_are_shown_with_their_figures(reader, airline):
    """On real trajectories without times the figures are the store's, and no tool has a place in time."""
    url, db = airline
    page = reader.open(url)
    expect_figures(page, db)
    expect(page.locator(".trend")).to_have_count(0)
    expect(page.get_by_text("time unknown").first).to_be_visible()
    expect(page.get_by_text("Demo data.")).to_have_count(0)
    reader.keep("airline-tool-health")


def test_an_imported_run_is_replayed(reader, airline):
    """From the list of failed runs a real run opens with all its steps."""
    url, db = airline
    page = reader.open(f"{url}/failed-runs")
    with open_source(db) as source:
        first = metrics.failed_runs(source)["run"][0]
        run = replay_run(source, first)
    reader.keep("airline-failed-runs")
    page.get_by_role("region", name="Failed runs").get_by_role("link").first.click()
    expect(page.locator("details.step")).to_have_count(len(run.steps))
    reader.keep("airline-replay")


def test_the_pages_in_the_dark_and_on_a_narrow_screen(reader, office):
    """A reader who prefers dark gets dark, and nothing but a table's own frame scrolls sideways."""
    reader.page.emulate_media(color_scheme="dark")
    for path, name in (("", "tool-health"), ("replay?run=live-w4-trouble", "replay")):
        page = reader.open(f"{office[0]}/{path}")
        assert page.locator(".stApp").evaluate("app => getComputedStyle(app).backgroundColor") == "rgb(17, 23, 22)"
        reader.keep(f"dark-{name}")
        page.set_viewport_size({"width": 430, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        reader.keep(f"narrow-{name}")
        page.set_viewport_size({"width": 1440, "height": 900})
