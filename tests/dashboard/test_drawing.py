from toolwitness.dashboard.drawing import Week, axis, bar, trend


def test_the_axis_fills_weeks_in_which_nothing_happened():
    """Time runs evenly: a week without calls keeps its place, over the turn of the year too."""
    assert axis(["2027-W01", "2026-W52"]) == ["2026-W52", "2026-W53", "2027-W01"]


def test_week_unknown_is_on_no_axis():
    """What has no time has no place in time."""
    assert axis(["unknown"]) == []
    assert axis(["unknown", "2026-W45"]) == ["2026-W45"]


def test_the_axis_ends_with_the_last_week_and_is_at_most_twelve_long():
    """Old weeks give way to new ones."""
    weeks = axis(["2026-W01", "2026-W45"])
    assert (weeks[0], weeks[-1], len(weeks)) == ("2026-W34", "2026-W45", 12)


def test_a_bar_is_filled_in_proportion():
    """The filled and the empty part grow as the figures do."""
    shown = bar(3, 12)
    assert "flex-grow:3" in shown
    assert "flex-grow:9" in shown


def test_a_share_of_nothing_has_no_bar():
    """An empty bar would read as zero."""
    assert bar(0, 0) is None


def test_a_trend_says_its_figures_in_words():
    """A reader who sees no columns hears the weeks."""
    shown = trend(["2026-W45", "2026-W46"], {"2026-W45": Week(5, 2, 1), "unknown": Week(9, 9, 0)})
    assert 'aria-label="calls per week: 2026-W45: 5 called, 1 in error, 2 not known to be good"' in shown


def test_a_tool_with_undated_calls_alone_has_no_trend():
    """Calls without times are neither shown in some week nor as none."""
    assert "time unknown" in trend(["2026-W45"], {"unknown": Week(9, 9, 0)})
    assert "no calls" in trend(["2026-W45"], {})


def test_the_chosen_week_is_marked():
    """A reader who chose a week sees which column it is."""
    shown = trend(["2026-W45", "2026-W46"], {"2026-W45": Week(5, 5, 0)}, "2026-W46")
    assert 'title="2026-W46: 0 called" class="marked"' in shown
    assert shown.count("marked") == 1
