import json
import sys

import pytest

from toolwitness.model.catalog_file import identity
from toolwitness.model.exceptions import BrokenFileError, UnknownFormatError
from toolwitness.sdk import setup
from toolwitness.sdk.catalog_module import read_module

MODULE = '''
"""An agent's tools."""
import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import pydantic

import toolwitness

if TYPE_CHECKING:
    from nowhere import Missing

print("words on standard output")
toolwitness.instrument(endpoint="http://127.0.0.1:9")


class Handle:
    pass


@dataclass
class Item:
    sku: str
    count: int = 1


@toolwitness.tool(server="shop", version="2", classes={"args.order": "internal"})
def refund(order: str, items: list[Item], handle: Handle, speed: Literal["slow", "fast"], bare, *more: float, dry: bool = True):
    """Give money back."""


@toolwitness.tool(input_schema={"type": "object", "properties": {"to": {"type": "string", "x-privacy": "personal"}}})
def send(to: Annotated[str, pydantic.Field(json_schema_extra={"x-privacy": "secret"})]):
    """Its schema is given, so that the signature says nothing."""


@toolwitness.tool
def whisper(to: Annotated[str, pydantic.Field(json_schema_extra={"x-privacy": "secret"})], **further):
    """A class in an annotation, which the recorder does not read."""


class Desk:
    @toolwitness.tool
    def method(self, number: int): ...

    @staticmethod
    @toolwitness.tool
    def static(number: "int | None" = None): ...

    @toolwitness.tool
    @classmethod
    def outer(cls, number: "Missing"): ...


def make():
    @toolwitness.tool
    def hidden(number: int): ...


make()
'''


@pytest.fixture(name="module", scope="module")
def fixture_module(tmp_path_factory):
    """A file with decorated tools."""
    path = tmp_path_factory.mktemp("agent") / "agent_tools.py"
    path.write_text(MODULE, encoding="utf-8")
    return path


@pytest.fixture(name="tools")
def fixture_tools(module):
    """The tools of that file, by identity."""
    return {identity(tool.definition): tool for tool in read_module(str(module)).tools}


def test_every_decorated_tool_is_found(tools):
    """Functions, methods of each kind, and those decorated inside a function."""
    assert list(tools) == ["shop/refund@2", "send", "whisper", "method", "static", "outer", "hidden"]


def test_a_tool_without_a_schema_has_the_fields_of_its_signature(tools):
    """Names and types as the recorder sees them; what has no JSON form may be anything; nothing that gives a class."""
    schema = tools["shop/refund@2"].definition.input_schema

    assert schema == {
        "type": "object",
        "properties": {
            "order": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "handle": {},
            "speed": {"type": "string"},
            "bare": {},
            "*": {"type": "array", "items": {"type": "number"}},
            "dry": {"type": "boolean"},
        },
        "additionalProperties": False,
        "$defs": {"Item": {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}}}},
    }


def test_methods_do_not_count_the_object_that_they_belong_to(tools):
    """`self` and `cls` are no arguments of the call."""
    fields = {name: tools[name].definition.input_schema["properties"] for name in ("method", "static", "outer")}

    assert fields == {
        "method": {"number": {"type": "integer"}},
        "static": {"number": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "outer": {"number": {}},
    }


def test_a_given_schema_stands_as_it_is(tools):
    """The signature adds nothing to it."""
    assert tools["send"].definition.input_schema["properties"] == {"to": {"type": "string", "x-privacy": "personal"}}
    assert tools["send"].unread is None


def test_a_class_in_a_signature_counts_for_nothing_and_can_be_found(tools):
    """The recorder does not have that schema, so that a promise in it would be empty."""
    whisper = tools["whisper"]

    assert "x-privacy" not in json.dumps(whisper.definition.input_schema)
    assert whisper.unread["signature"]["properties"]["to"]["x-privacy"] == "secret"
    assert whisper.definition.input_schema["additionalProperties"] is True


def test_how_many_signatures_were_taken_is_told(module):
    """So that nobody takes them for schemas."""
    assert read_module(str(module)).notes == (
        "5 without input_schema: fields are those of the signature; declare them by @tool(classes=...)",
    )


def test_importing_records_and_prints_nothing(module, capsys):
    """A module that instruments itself does not while it is looked at, and its words do not mix with an answer."""
    read_module(str(module))

    assert setup.active() is None
    assert capsys.readouterr().out == ""


def test_a_module_is_found_by_its_name_from_the_working_directory(tmp_path, monkeypatch):
    """As `python -m` would; its sub-modules count where it imports them."""
    package = tmp_path / "checked_agent"
    package.mkdir()
    (package / "__init__.py").write_text("from checked_agent import inner\n")
    (package / "inner.py").write_text("import toolwitness\n@toolwitness.tool\ndef look(a: int): ...\n")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)

    assert [tool.definition.name for tool in read_module("checked_agent").tools] == ["look"]
    assert [tool.definition.name for tool in read_module("checked_agent/inner.py").tools] == ["look"]
    assert sys.path == path


BROKEN = {
    "what it raises": ("import toolwitness\n1 / 0\n", "ZeroDivisionError: division by zero", "line 2"),
    "that it ends": ("import sys\nsys.exit('no key')\n", "SystemExit: no key", "line 2"),
    "what is missing": ("import nowhere_at_all\n", "ModuleNotFoundError: No module named 'nowhere_at_all'", "line 1"),
    "that it is no Python": ("def (\n", "SyntaxError", ""),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_module_that_cannot_be_imported_is_told(tmp_path, case):
    """With what it raised, and where."""
    text, said, place = BROKEN[case]
    (tmp_path / "broken.py").write_text(text)

    with pytest.raises(BrokenFileError) as refused:
        read_module(str(tmp_path / "broken.py"))

    assert said in str(refused.value)
    assert place in str(refused.value)


def test_a_module_without_tools_is_told():
    """Nothing to look at is not the same as nothing wrong."""
    with pytest.raises(UnknownFormatError, match=r"json holds no tool: .*@toolwitness\.tool"):
        read_module("json")
