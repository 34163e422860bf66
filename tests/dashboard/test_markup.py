from toolwitness.dashboard.markup import Markup, join, tag, text


def test_recorded_text_is_escaped():
    """What was recorded can never become an element."""
    assert tag("td", "<script>alert(1)</script>") == "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>"


def test_attribute_values_are_escaped():
    """A recorded value cannot leave the attribute that it stands in."""
    assert tag("a", "x", href='/?q="><b>') == '<a href="/?q=&quot;&gt;&lt;b&gt;">x</a>'


def test_markup_goes_in_as_it_is():
    """Elements nest without being escaped twice."""
    assert tag("p", tag("b", "a & b"), None, 7) == "<p><b>a &amp; b</b>7</p>"


def test_attribute_names_are_written_as_html_has_them():
    """Python's spelling of attribute names becomes HTML's; None and False leave the attribute out."""
    given = {"class_": "x", "aria_label": "y", "open": True, "hidden": False, "title": None}
    assert tag("details", **given) == '<details class="x" aria-label="y" open></details>'


def test_join_leaves_out_what_is_not_there():
    """None takes no place between the children."""
    assert join(["a", None, Markup("<br>")], ", ") == "a, <br>"


def test_none_is_no_text():
    """None as text is nothing, not its name."""
    assert text(None) == ""
