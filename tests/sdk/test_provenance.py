"""The rules of matching, one golden case each; the figures over real trajectories are in the importers' tests."""

import pytest

from toolwitness.sdk.provenance import RunIndex, TextIndex, content, leaves, parse_result


def index(*said):
    """A run in which these (role, text) were said."""
    made = RunIndex()
    for role, text in said:
        made.message(role, text)
    return made


def origins(run, arguments):
    """Origins of all leaves, in order."""
    return [str(edge.origin) for edge in run.arguments(arguments).origins]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1000000, "1000000"),
        (12.0, "12"),
        (12.5, "12.5"),
        (1e22, "10000000000000000000000"),
        ("x", "x"),
    ],
)
def test_the_text_of_a_leaf(value, expected):
    """Integers as such, integral floats as integers, others shortest repr."""
    assert [leaf.text for leaf in leaves(value)] == [expected]


@pytest.mark.parametrize("value", [True, False, None, {}, []])
def test_what_is_no_leaf(value):
    """Booleans, null and empty containers carry no value."""
    assert list(leaves(value)) == []


@pytest.mark.parametrize(
    ("value", "informative"),
    [("abc", False), ("abcd", True), (99, False), (100, True), (-12, False), (1.5, False), (1.25, True), ("日本語字", True)],
)
def test_what_is_informative(value, informative):
    """At least four characters, or three digits of a number."""
    assert bool(content(value).informative) == informative


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a": 1}', {"a": 1}), ("12", 12), ("RF-77", "RF-77"), ("two words", None), ("", None), ('"{\\"a\\":1}"', '{"a":1}')],
)
def test_a_result_is_parsed_once(text, expected):
    """Bare scalars count, JSON inside strings is not parsed, prose has no values."""
    assert expected == parse_result(text)


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("pay 12.50 now", "12", True),
        ("order A12", "A1", False),
        ("id x_12", "12", False),
        ("(12)", "12", True),
        ("naïve", "na", False),
        ("email me@x.org!", "me@x.org", True),
        ("costs $10", "$10", True),
        ("x$10", "$10", False),
        ("---", "----", False),
    ],
)
def test_bounded_occurrence(text, value, found):
    """A value counts where no letter, digit or underscore is glued to it."""
    texts = TextIndex()
    texts.add(text)
    assert found == texts.contains(value)


def test_short_arguments_are_trivial():
    """Fewer than three characters tell nothing, whoever said them."""
    assert origins(index(("user", "to NY")), {"a": "NY", "b": 12}) == ["trivial", "trivial"]


def test_user_match_ignores_case_and_tool_match_does_not():
    """What the user said is found in any case, a result's value only as it is."""
    run = index(("user", "Fly from jfk"))
    run.result("c1", {"code": "SEA"}, credit=True)
    assert origins(run, {"a": "JFK", "b": "SEA", "c": "sea"}) == ["user", "tool", "model"]


def test_a_key_of_a_result_is_the_tool_s():
    """An argument may be a key that a tool showed."""
    run = index(("user", "hi"))
    run.result("c1", {"card_44": {}}, credit=True)
    assert origins(run, ["card_44"]) == ["tool"]


def test_both_user_and_tool():
    """A value that both gave says so."""
    run = index(("user", "order A-77"))
    run.result("c1", {"order": "A-77"}, credit=True)
    assert origins(run, ["A-77"]) == ["user+tool"]


def test_the_policy_is_system():
    """A value from the instructions is the system's."""
    assert origins(index(("system", "Always use desk D-900.")), ["D-900"]) == ["system"]


def test_thousands_commas_are_removed_for_novelty_and_answers_only():
    """`1,234` in prose and 1234 in data are one value there; origins compare as written."""
    run = index(("user", "I paid 1,234 already"))
    assert run.result("c1", {"paid": 1234, "open": 5678}, credit=True) == 1
    assert run.answer("You still owe 5,678.") == ("c1",)
    assert origins(run, [1234]) == ["tool"]


def test_a_value_is_credited_to_its_first_result():
    """A second call that returns it again is not the one that was used."""
    run = index(("user", "hi"))
    run.result("c1", {"ref": "REF-1"}, credit=True)
    assert run.result("c2", {"ref": "REF-1"}, credit=True) == 0
    assert run.arguments({"ref": "REF-1"}).sources == ("c1",)


def test_an_error_s_values_are_seen_and_not_new():
    """What an error result showed is no news in a later one."""
    run = index(("user", "hi"))
    assert run.result("c1", {"ref": "REF-1"}, credit=False) == 0
    assert run.result("c2", {"ref": "REF-1"}, credit=True) == 0


def test_own_arguments_are_no_news():
    """A result that echoes what was asked tells nothing new."""
    run = index(("user", "hi"))
    run.arguments({"q": "REF-1"})
    assert run.result("c1", {"q": "REF-1", "n": "REF-2"}, credit=True) == 1


def test_only_answers_after_the_result_count():
    """What was said before cannot have used it, and makes it old news."""
    run = index(("user", "hi"))
    assert run.answer("Is it REF-1?") == ()
    assert run.result("c1", {"ref": "REF-1"}, credit=True) == 0


def test_a_run_that_is_too_large_becomes_unknown():
    """Beyond the limit nothing is claimed: no origin, no novelty."""
    run = RunIndex(limit_bytes=10)
    run.message("user", "a long text that does not fit")
    assert run.result("c1", {"ref": "REF-1"}, credit=True) is None
    assert origins(run, ["REF-1"]) == ["unknown"]


def test_keys_that_may_be_model_text_stay_out_of_pointers():
    """A pointer names plain keys only."""
    assert [leaf.pointer for leaf in leaves({"to": {"bob@example.org": "x"}, "list": ["y"]})] == ["/to/*", "/list/0"]
