import gzip
import json

import pytest

from toolwitness.model.catalog_file import catalog_of, identity, read_catalog
from toolwitness.model.exceptions import BrokenFileError, UnknownFormatError

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
MCP = {"name": "t", "description": "d", "inputSchema": SCHEMA, "outputSchema": SCHEMA}
ANTHROPIC = {"name": "t", "description": "d", "input_schema": SCHEMA}
RESPONSES = {"type": "function", "name": "t", "description": "d", "parameters": SCHEMA}
CHAT = {"type": "function", "function": {"name": "t", "description": "d", "parameters": SCHEMA}}
CUSTOM = {"type": "custom", "custom": {"name": "t", "description": "d"}}

FORMS = {
    "tools/list": ({"tools": [MCP]}, ["t"]),
    "tools/list in its envelope": ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}}, ["t"]),
    "a list of MCP tools": ([MCP], ["t"]),
    "one tool": (MCP, ["t"]),
    "one tool of OpenAI's": (CHAT, ["t"]),
    "Anthropic": ([ANTHROPIC], ["t"]),
    "Anthropic with a type": ([{**ANTHROPIC, "type": "custom"}], ["t"]),
    "OpenAI responses": ([RESPONSES], ["t"]),
    "OpenAI chat": ([CHAT], ["t"]),
    "a tool of free text": ([CUSTOM], ["t"]),
    "servers with lists": ({"git": [MCP], "shop": [ANTHROPIC]}, ["git/t", "shop/t"]),
    "servers with answers": (
        {"git": {"tools": [MCP]}, "shop": {"jsonrpc": "2.0", "result": {"tools": [MCP]}}},
        ["git/t", "shop/t"],
    ),
    "a list of servers": ([{"name": "git", "tools": [MCP]}, {"name": "shop", "tools": [MCP]}], ["git/t", "shop/t"]),
    "two versions": ([{**MCP, "version": "1"}, {**MCP, "version": "2"}], ["t@1", "t@2"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read(form):
    """With server and version where they are known, and the schemas whatever their key is called."""
    data, names = FORMS[form]
    tools = catalog_of(data).tools

    assert [identity(tool.definition) for tool in tools] == names
    assert {json.dumps(tool.definition.input_schema) for tool in tools} == {
        json.dumps(None if form == "a tool of free text" else SCHEMA)
    }


def test_one_page_of_several_is_told():
    """What a cursor points to is not in the file."""
    assert catalog_of({"tools": [MCP], "nextCursor": "x"}).notes == (
        "the file is one page of an answer to tools/list (it has a nextCursor): other pages are not read",
    )


def test_a_provider_s_own_tool_is_left_out_and_told():
    """Its fields are the provider's; there is no schema to look at."""
    catalog = catalog_of([{"type": "web_search_20250305", "name": "web_search"}, ANTHROPIC])

    assert [tool.definition.name for tool in catalog.tools] == ["t"]
    assert catalog.notes == ("[0] is a tool of the provider's own ('web_search_20250305') without a schema: left out",)


def test_what_stands_around_the_schemas_is_kept_apart():
    """So that a class which was written there can be found."""
    (tool,) = catalog_of([{**CHAT, "x-privacy": "secret"}]).tools

    assert tool.unread == {"type": "function", "x-privacy": "secret", "name": "t", "description": "d"}


WRONG = {
    "a text": ("x", UnknownFormatError, "the whole file is a text; supported: an MCP answer to tools/list"),
    "nothing": ({"tools": []}, UnknownFormatError, "there is no tool in it"),
    "a client's configuration": ({"mcpServers": {"git": {}}}, UnknownFormatError, "an MCP client's configuration"),
    "other keys": ({"hello": 1}, UnknownFormatError, "the whole file has the keys 'hello'; supported"),
    "no tool in a server": ({"git": {"hello": 1}}, UnknownFormatError, "git has the keys 'hello'; supported"),
    "an error": ({"jsonrpc": "2.0", "error": {}}, BrokenFileError, "without a result (keys: 'jsonrpc', 'error')"),
    "a number for a tool": ([1], BrokenFileError, "[0] is a number; a tool is an object with a name and a schema"),
    "no name": (
        {"tools": [{"inputSchema": {}}]},
        BrokenFileError,
        "tools[0]: a tool object needs a string 'name'; seen keys",
    ),
    "a schema that is none": (
        [{**ANTHROPIC, "input_schema": []}],
        BrokenFileError,
        "[0].input_schema is an array; a schema is an",
    ),
    "a tool twice": ({"git": [MCP, MCP]}, BrokenFileError, "tool 'git/t' stands twice, at git[0] and git[1]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_catalog_is_told_precisely(tmp_path, case):
    """The file, the place, what was seen and what would be right."""
    data, error, said = WRONG[case]
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(data))

    with pytest.raises(error) as refused:
        read_catalog(path)

    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "line 1 column 2"), ('{"tools": [], "tools": []}', "'tools' stands twice")], ids=["torn", "twice"]
)
def test_a_file_that_is_no_json_is_told(tmp_path, text, said):
    """A name that stands twice counts as such: of the two, one would be dropped without a word."""
    path = tmp_path / "tools.json"
    path.write_text(text)

    with pytest.raises(BrokenFileError, match=said):
        read_catalog(path)


def test_recorded_catalogs_are_read_whole(shared):
    """An array of OpenAI's, and seventy servers of MCP's with their tools."""
    airline = read_catalog(shared / "data" / "tau-bench" / "tau1_airline_tools.json")
    with gzip.open(shared / "data" / "livemcpbench" / "tools.json.gz", "rt", encoding="utf-8") as file:
        live = catalog_of(json.load(file))

    assert (len(airline.tools), len(live.tools)) == (14, 527)
    assert len({tool.definition.server for tool in live.tools}) > 60
    assert airline.notes == live.notes == ()
