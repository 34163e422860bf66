from toolwitness.dashboard import links


def test_an_address_is_read_back_as_it_was_made():
    """Names with any characters survive the way through the address."""
    made = links.address(links.TOOL_HEALTH, server="", tool="a&b=c/ü <x>", week=None)
    assert links.split(made) == ("/", {"server": "", "tool": "a&b=c/ü <x>"})


def test_a_link_is_an_ordinary_anchor():
    """It can be opened in a new tab and copied."""
    assert links.to_run("r 1", "task") == '<a href="/replay?run=r+1" class="go" target="_self">task</a>'
