"""`toolwitness check` and `toolwitness explain-redaction`, as they are called."""

import importlib.util
import io
import json
import subprocess
import sys

import pytest

from toolwitness.model.catalog_file import identity
from toolwitness.redaction import RedactionPolicy
from toolwitness.redaction.lint import lint

ORDER = {"type": "string", "x-privacy": "internal"}
RESULT = {"type": "object", "x-privacy": "internal"}


def refund(**properties):
    """A catalog of one tool, with these arguments besides the order."""
    schema = {"type": "object", "properties": {"order": ORDER, **properties}, "additionalProperties": False}
    return {"shop": [{"name": "refund", "inputSchema": schema, "outputSchema": RESULT}]}


@pytest.fixture(name="write")
def fixture_write(tmp_path):
    """`write(name, content)` -> the path of that file; content that is no text is written as JSON."""

    def write(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


# -- check ----------------------------------------------------------------------------------------------------------------


def test_a_declared_catalog_passes(cli, write):
    """Exit code 0, every field with its class, who decided it and what is done."""
    code, out, err = cli("check", write("tools.json", refund(to={"type": "string", "format": "email"})))

    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "shop/refund"
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "args.order internal schema:x-privacy keep" in rows
    assert "args.to personal schema:format-email fingerprint" in rows
    assert rows[-1] == "1 tool, 3 fields: every declared field has a class; 0 warnings"


def test_an_undeclared_field_fails_and_says_how_to_put_it_right(cli, write):
    """Exit code 1, the field is marked, and the finding ends with its fix."""
    code, out, err = cli("check", write("tools.json", refund(note={"type": "string"})))
    rows = [" ".join(line.split()) for line in out.splitlines()]

    assert (code, err) == (1, "")
    assert "! args.note unknown default shape" in rows
    assert "error: unclassified 1" in rows
    assert "shop/refund:args.note nothing says what class it has" in rows
    assert 'fix: add x-privacy to its schema, or "shop/refund:args.note" to the policy' in rows
    assert rows[-1] == "1 tool, 3 fields: 1 error, 0 warnings"


def test_the_policy_counts(cli, write, monkeypatch):
    """By option, or by the environment variable that the agent reads too."""
    tools = write("tools.json", refund(note={"type": "string"}))
    policy = write("policy.toml", '[classes]\n"refund:args.note" = "personal"\n[handling]\npersonal = {retention = "30d"}\n')

    assert "args.note personal policy fingerprint, 30 d" in " ".join(cli("check", tools, "--policy", policy)[1].split())
    monkeypatch.setenv("TOOLWITNESS_POLICY", str(policy))
    assert cli("check", tools)[0] == 0


def test_programs_get_the_same(cli, write):
    """`--json` holds every field and every finding."""
    code, out, _ = cli("check", write("tools.json", refund(note={"type": "string"})), "--json")
    answer = json.loads(out)

    assert (code, answer["passed"], answer["notes"], answer["baseline_written"]) == (1, False, [], None)
    (tool,) = answer["tools"]
    assert tool["fields"][1] == {
        "path": "args.note",
        "class": "unknown",
        "why": "default",
        "source": "default",
        "action": "shape",
        "retention_days": None,
        "access": [],
        "reason": None,
    }
    assert answer["findings"] == [
        {
            "code": "unclassified",
            "level": "error",
            "tool": "shop/refund",
            "path": "args.note",
            "message": "nothing says what class it has",
            "fix": 'add x-privacy to its schema, or "shop/refund:args.note" to the policy',
        }
    ]


def test_warnings_do_not_fail(cli, write):
    """A tool without an output schema passes; many warnings of one kind are cut, but not for programs."""
    tools = write("tools.json", [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(9)])
    code, out, _ = cli("check", tools)

    assert code == 0
    assert "warning: no-output-schema  9" in out
    assert "and 4 more; --json lists all" in out
    assert len(json.loads(cli("check", tools, "--json")[1])["findings"]) == 18


def test_the_baseline_is_written_on_request_and_compared_ever_after(cli, write, tmp_path):
    """Written, it passes; with one more field it fails, until it is written anew."""
    baseline = tmp_path / "privacy-baseline.json"
    tools = write("tools.json", refund())
    code, out, _ = cli("check", tools, "--baseline", baseline, "--update-baseline")
    assert (code, f"wrote {baseline}" in " ".join(out.split())) == (0, True)
    assert cli("check", tools, "--baseline", baseline)[0] == 0

    write("tools.json", refund(to={**ORDER, "x-privacy": "personal"}))
    code, out, _ = cli("check", tools, "--baseline", baseline, "--json")
    assert (code, [(one["code"], one["path"]) for one in json.loads(out)["findings"]]) == (1, [("new-field", "args.to")])

    assert cli("check", tools, "--baseline", baseline, "--update-baseline")[0] == 0
    assert json.loads(baseline.read_text())["tools"]["shop/refund"]["args.to"] == "personal"


def test_updating_the_baseline_forgives_nothing_else(cli, write, tmp_path):
    """A field without a class stays a finding."""
    tools = write("tools.json", refund(note={"type": "string"}))

    assert cli("check", tools, "--baseline", tmp_path / "b.json", "--update-baseline")[0] == 1
    assert cli("check", tools, "--baseline", tmp_path / "b.json")[0] == 1


def test_several_catalogs_are_checked_as_one(cli, write):
    """An agent's tools come from several places; one policy is about all of them."""
    policy = write("policy.yaml", "classes: {'look:*': internal, 'refund:args.order': public}")
    module = write("agent_module.py", "import toolwitness\n@toolwitness.tool\ndef look(place: str): ...\n")
    code, out, _ = cli("check", write("tools.json", refund()), module, "--policy", policy, "--json")

    assert (code, [tool["tool"] for tool in json.loads(out)["tools"]]) == (0, ["shop/refund", "look"])


def test_what_stands_in_two_catalogs_is_refused(cli, write):
    """Two tools of one name cannot be told apart by any selector."""
    code, out, err = cli("check", write("a.json", refund()), write("b.json", refund()))

    assert (code, out) == (2, "")
    assert "b.json: tool 'shop/refund' stands in an earlier catalog too" in err


def test_python_modules_are_checked_by_their_signatures(cli, write):
    """What is derived is told, and a class in an annotation is misplaced."""
    text = """
from typing import Annotated
import pydantic
import toolwitness

@toolwitness.tool(classes={"args.order": "internal", "args.ordr": "internal"})
def refund(order: str, to: Annotated[str, pydantic.Field(json_schema_extra={"x-privacy": "personal"})]): ...
"""
    code, out, err = cli("check", write("agent_tools.py", text), "--json")
    answer = json.loads(out)

    assert (code, err) == (1, "")
    assert [(one["code"], one["path"]) for one in answer["findings"] if one["level"] == "error"] == [
        ("unclassified", "args.to"),
        ("unreachable-selector", "args.ordr"),
        ("misplaced-annotation", "tool#/signature/properties/to/x-privacy"),
    ]
    assert "1 without input_schema" in answer["notes"][0]


UNUSABLE = {
    "no such file": (("check", "none.json"), "there is no file none.json"),
    "neither file nor module": (
        ("check", "nowhere_at_all"),
        "there is no file nowhere_at_all, and as a module nowhere_at_all cannot",
    ),
    "no catalog": (("check", "other.json"), "other.json: the whole file has the keys 'hello'"),
    "no JSON": (("check", "torn.json"), "torn.json cannot be read as JSON"),
    "too deep": (("check", "deep.json"), "deep.json"),
    "a folder": (("check", "folder"), "folder"),
    "no policy": (("check", "tools.json", "--policy", "none.toml"), "none.toml cannot be read"),
    "a broken policy": (("check", "tools.json", "--policy", "broken.toml"), "broken.toml: the file has the key 'clases'"),
    "no baseline": (
        ("check", "tools.json", "--baseline", "none.json"),
        "no baseline at none.json; write it with --update-baseline",
    ),
    "a broken baseline": (("check", "tools.json", "--baseline", "other.json"), "other.json is no baseline"),
    "an update of nothing": (("check", "tools.json", "--update-baseline"), "--baseline"),
    "nothing": (("check",), "CATALOG"),
    "a payload that is not there": (("explain-redaction", "none.json"), "none.json"),
    "a payload that is no JSON": (("explain-redaction", "torn.json"), "torn.json is no JSON"),
    "an unknown tool": (
        ("explain-redaction", "other.json", "--catalog", "tools.json", "--tool", "x"),
        "no tool x in tools.json; there is shop/refund",
    ),
    "a part that there is not": (("explain-redaction", "other.json", "--part", "arguments"), "none of args, result, error"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_used_exits_with_2(cli, write, tmp_path, monkeypatch, case):
    """So that a pipeline can tell a finding from a check that never was; nothing stands on standard output."""
    arguments, said = UNUSABLE[case]
    write("tools.json", refund())
    write("other.json", {"hello": 1})
    write("torn.json", "{")
    write("deep.json", '{"tools": ' + "[" * 100_000 + "]" * 100_000 + "}")
    write("broken.toml", "[clases]")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)

    code, out, err = cli(*arguments)

    assert (code, out) == (2, "")
    assert said in " ".join(err.split())


def test_what_a_catalog_says_cannot_steer_a_terminal(cli, write):
    """Names are someone else's text."""
    out = cli("check", write("tools.json", refund(**{"a\x1bb": {"type": "string"}})))[1]

    assert "\x1b" not in out
    assert "args.a?b" in out


def test_a_real_catalog_is_shown_whole(cli, shared):
    """Fourteen tools of an airline, none of which knows of privacy classes."""
    code, out, err = cli("check", shared / "data" / "tau-bench" / "tau1_airline_tools.json")

    assert (code, err) == (1, "")
    assert max(map(len, out.splitlines())) <= 100
    assert out.rstrip().splitlines()[-1].startswith("14 tools, ")


def test_the_demo_s_own_tools_pass(root):
    """What the demo shows of privacy is what the product asks for."""
    spec = importlib.util.spec_from_file_location("demo_desk", root / "examples" / "demo_agent" / "desk.py")
    desk = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(desk)
    found = {
        identity(one.definition): one.definition
        for value in vars(desk).values()
        for one in (value if isinstance(value, tuple) else value.values() if isinstance(value, dict) else ())
        if isinstance(one, desk.LocalTool)
    }

    assert "mail/send_email@1" in found
    assert lint(list(found.values()), RedactionPolicy()) == ()


def test_checking_needs_no_extra(write):
    """A pipeline installs the bare package: no database, no frames, no pages."""
    heavy = ("duckdb", "polars", "pyarrow", "streamlit", "starlette", "yaml")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({heavy!r}))\n"
        f"sys.argv = ['toolwitness', 'check', {str(write('tools.json', refund()))!r}]\n"
        "from toolwitness.__main__ import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "1 tool, 2 fields" in done.stdout


# -- explain-redaction ----------------------------------------------------------------------------------------------------

MAIL = "ines.moreau@example.com"
PAYLOAD = {"order": "W-1042", "note": "call 4711 Ines", "to": MAIL, "password": "hunter2horse", "fast": True}


def test_each_place_is_explained(cli, write):
    """Its class, who decided it and what was done; beneath, the copy that would leave."""
    tools = write("tools.json", refund(to={"type": "string", "format": "email"}))
    arguments = ("explain-redaction", write("payload.json", PAYLOAD), "--catalog", tools, "--tool", "refund")
    code, out, err = cli(*arguments)
    rows = [" ".join(line.split()) for line in out.splitlines()]

    assert (code, err) == (0, "(the agent adds a fingerprint, fp, under its own key)\n")
    assert rows[1:5] == [
        "args.order internal schema:x-privacy keep",
        "args.note unknown default shape",
        "args.to personal schema:format-email fingerprint",
        "args.password secret name:password shape",
    ]
    copy = json.loads(out.partition("what leaves:")[2])
    answer = json.loads(cli(*arguments, "--json")[1])
    assert copy == answer["copy"]
    assert (copy["order"], copy["fast"], answer["minimal"]) == ("W-1042", True, None)
    assert answer["places"][0] == {
        "path": "args.order",
        "class": "internal",
        "why": "schema:x-privacy",
        "source": "schema",
        "action": "keep",
    }


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_no_original_is_printed(cli, write, form):
    """Not among values, not among keys, not in JSON texts: the output may stand in a pipeline's log."""
    hidden = ["hunter2horse", MAIL, "4711", "Ines", "sk_live_"]
    key = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    payload = {**PAYLOAD, MAIL: 1, "deep": json.dumps({"token": key}), "status": f"used {key}"}
    out = "".join(cli("explain-redaction", write("payload.json", payload), "--policy", write("p.toml", ""), *form)[1:])

    assert [word for word in hidden if word in out] == []
    assert "args.deep" in out


def test_a_payload_may_come_by_standard_input(cli, monkeypatch):
    """`-` stands for it; without a catalog the tool's name serves the policy's selectors."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"amount": 12.5}'))
    code, out, _ = cli("explain-redaction", "-", "--tool", "refund", "--part", "result", "--json")

    assert (code, json.loads(out)["places"][0]["path"]) == (0, "result.amount")


def test_a_tool_s_own_classes_are_used(cli, write):
    """Those that were given in code, under those of the policy."""
    text = 'import toolwitness\n@toolwitness.tool(classes={"args.note": "internal"})\ndef refund(note: str): ...\n'
    arguments = (
        "explain-redaction",
        write("payload.json", PAYLOAD),
        "--catalog",
        write("own_tools.py", text),
        "--tool",
        "refund",
    )
    answer = json.loads(cli(*arguments, "--json")[1])

    assert (answer["places"][1]["why"], answer["copy"]["note"]) == ("policy", PAYLOAD["note"])


def test_a_payload_beyond_the_limits_is_told(cli, write):
    """Of one that is long something is left out; of one that is longer than can be looked through nothing leaves."""
    long = [{"name": number} for number in range(30_000)]
    code, out, err = cli("explain-redaction", write("payload.json", long))
    assert (code, err) == (0, "")
    assert "something of the payload was beyond the limits and is left out" in out

    longer = [json.dumps([1] * 4000)] * 7
    assert cli("explain-redaction", write("payload.json", longer)) == (
        0,
        "no copy leaves at all, only that there was a payload: size\n",
        "",
    )


def test_a_payload_that_is_nested_too_deep_is_told(cli, write):
    """It cannot be read at all."""
    code, out, err = cli("explain-redaction", write("deep.json", '{"a":' * 60_000 + "1" + "}" * 60_000))

    assert (code, out) == (2, "")
    assert "too deep" in err
