"""The registry of SQL files."""

import shutil

import pytest

from toolwitness.collector.store import queries
from toolwitness.model.exceptions import UnknownQueryError

METRIC = """-- question: how many calls
--   does each tool have?
-- numerator: calls
-- denominator: none
-- grain: tool
-- excludes: calls of another server than $server
-- optional: week
select tool, count(*) as n from calls where server = $server and ($week is null or week = $week) group by tool;
"""
REPLAY = "-- question: which runs are there?\nselect run_id from runs;\n"


@pytest.fixture(name="folders")
def fixture_folders(tmp_path):
    """Folders of metrics and replay queries with one file each."""
    for name, text in (("metrics/calls_of.sql", METRIC), ("replay/run_list.sql", REPLAY)):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text(text)
    return tmp_path / "metrics", tmp_path / "replay"


def test_a_file_is_a_query_by_its_name(folders):
    """Text, parameters and header are the file's; an indented comment goes on with the header above it."""
    found = queries.read_queries(*folders)
    assert sorted(found) == ["calls_of", "run_list"]
    metric = found["calls_of"]
    assert (metric.text, metric.parameters, metric.optional) == (METRIC, {"server", "week"}, {"week"})
    assert dict(metric.headers) == {
        "question": "how many calls does each tool have?",
        "numerator": "calls",
        "denominator": "none",
        "grain": "tool",
        "excludes": "calls of another server than $server",
        "optional": "week",
    }


def test_one_name_in_both_folders_is_an_error(folders):
    """Otherwise one of them would never be found."""
    shutil.copy(folders[0] / "calls_of.sql", folders[1] / "calls_of.sql")
    with pytest.raises(ValueError, match="both hold: calls_of"):
        queries.read_queries(*folders)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("optional: week", "optional: week, source", "source"),
        ("optional: week", "optional: weak", "weak, week"),
        ("than $server", "than its own", "server"),
        ("than $server", "than $server or $tool", "tool"),
        ("week = $week)", "week = $weak)", "weak"),
    ],
)
def test_header_and_sql_name_the_same_parameters(folders, old, new, differs):
    """A parameter that only one of them knows is a slip of the pen, needed or optional."""
    (folders[0] / "calls_of.sql").write_text(METRIC.replace(old, new))
    with pytest.raises(ValueError, match=rf"calls_of\.sql: .* differ in: {differs}$"):
        queries.read_queries(*folders)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("Bad-Name.sql", METRIC, "snake_case"),
        ("calls_of.sql", REPLAY, "missing: \\['numerator', 'denominator', 'grain', 'excludes'\\]"),
        ("calls_of.sql", METRIC.replace("select tool", "selekt tool"), "not SQL"),
        ("calls_of.sql", METRIC + "select 1;", "holds 2"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_named(folders, name, text, complaint):
    """Name, header, syntax and number of statements are checked."""
    (folders[0] / name).write_text(text)
    with pytest.raises(ValueError, match=rf"{name}.*{complaint}"):
        queries.read_queries(*folders)


def test_files_and_known_names_must_agree(tmp_path):
    """A file that the code does not know is an error, and so is a name without a file."""
    with pytest.raises(ValueError, match="differ in: a, c"):
        queries.check_names(tmp_path, ["a", "b"], ["b", "c"])


@pytest.mark.parametrize("ask", [queries.text, queries.headers, queries.parameters])
def test_an_unknown_name_is_answered_with_near_ones(ask):
    """A slip of the pen is easily put right."""
    with pytest.raises(UnknownQueryError, match=r"no named query 'toolz'; did you mean one of: .*tools"):
        ask("toolz")


def test_a_query_answers_by_its_name_with_its_parameters(store):
    """The answer is an Arrow table."""
    assert store.query("tool_calls", {"server": "s", "tool": "t"}).num_rows == 0


def test_an_optional_parameter_that_is_not_given_is_null():
    """It may be left out, given, or given as None."""
    by_name = {"server": "s", "tool": "t"}
    _, bound = queries.bound("tool_calls", {**by_name, "week": "w", "source": None})
    assert bound == {**by_name, "week": "w", "source": None, "limit": None}


@pytest.mark.parametrize(
    "given", [None, {"server": "s"}, {"server": "s", "week": "w"}, {"server": "s", "tool": "t", "weak": "w"}]
)
def test_parameters_must_be_those_of_the_query(store, given):
    """Needed ones that are missing and such that it does not have are errors that name both kinds."""
    said = r"'tool_calls' needs the parameters \['server', 'tool'\] and may be given \['limit', 'source', 'week'\], given were"
    with pytest.raises(UnknownQueryError, match=said):
        store.query("tool_calls", given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("runs", {"limit": -1}),
        ("runs", {"limit": "5"}),
        ("runs", {"limit": True}),
        ("runs", {"limit": 2**63}),
        ("runs", {"source": 7}),
        ("runs", {"search": "\ud800"}),
        ("tools", {"by_week": "yes"}),
        ("unknown_commits", {"now_ns": 1.5}),
        ("replay_run", {"run": False}),
    ],
)
def test_parameters_must_be_of_their_type(name, given):
    """The error names the parameter and what it takes."""
    (parameter,) = given
    with pytest.raises(
        UnknownQueryError, match=rf"query '{name}' takes (text|true or false|a whole number .*) as '{parameter}'"
    ):
        queries.bound(name, given | dict.fromkeys(queries.parameters(name) - {parameter}))


def test_every_named_query_binds_in_an_empty_store(store):
    """Each column and table that a file names is there."""
    for name in queries.names():
        store.query(name, dict.fromkeys(queries.parameters(name)))
