from toolwitness.dashboard import links


def test_an_address_keeps_names_with_any_characters():
    """What has a meaning in an address is escaped there; what is not chosen is left out."""
    made = links.address(links.TOOL_HEALTH, server="", tool="a&b=c/ü <x>", week=None)
    assert made == "/?server=&tool=a%26b%3Dc%2F%C3%BC+%3Cx%3E"


def test_a_link_is_an_ordinary_anchor():
    """It can be opened in a new tab and copied, and names the run in its tooltip."""
    assert links.to_run("r 1", "task") == '<a href="/replay?run=r+1" class="go" target="_self" title="r 1">task</a>'
