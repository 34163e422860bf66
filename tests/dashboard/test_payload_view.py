from toolwitness.dashboard.payload import brief, chip_text, pretty
from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.placeholder import placeholder

SECRETIVE = placeholder("mia@example.org", PrivacyClass.PERSONAL, "name:email", ("email",))


def test_a_placeholder_reads_as_a_chip():
    """A redacted value says its class, type, length and format in words."""
    assert "[redacted: personal string, 9-16 chars, email]" in pretty({"to": SECRETIVE})


def test_a_secret_has_no_length():
    """Where the redactor gives no length, none is shown."""
    (said,) = placeholder("hunter2", PrivacyClass.SECRET, "name:password").values()
    assert chip_text(said) == "[redacted: secret string]"


def test_an_origin_stands_beside_its_leaf():
    """Arguments say where their values came from, by JSON pointer."""
    shown = pretty({"a/b": ["x", "y"]}, {"/a~1b/1": "user"})
    assert '&quot;y&quot;<span class="origin">  from user</span>' in shown
    assert shown.count("origin") == 1


def test_nothing_recorded_is_said():
    """Arguments that were not recorded are no empty object."""
    assert "not recorded" in pretty(None)


def test_long_text_and_long_lists_are_cut_and_say_so():
    """A huge result does not fill the page, and the reader knows that it was cut."""
    assert "… 500 more characters" in pretty("x" * 2_500)
    assert "… 40 more items" in pretty(list(range(100)))


def test_a_value_is_indented_json():
    """What is shown can be read as the JSON that it is."""
    assert pretty([1, {"a": None}]) == '<pre class="json">[\n  1,\n  {\n    <b>&quot;a&quot;: </b>null\n  }\n]</pre>'


def test_a_brief_value_is_one_short_line_of_chips():
    """A cell of a table shows the first leaves, with what was redacted as chips."""
    shown = brief({"to": SECRETIVE, "text": "x" * 100, "list": list(range(9))})
    assert "to: <span" in shown
    assert "[redacted: personal string" in shown
    assert "x" * 41 not in shown
    assert shown.endswith("list: [0, 1, 2, 3, …]}</span>")


def test_a_value_that_is_too_short_to_trace_says_so():
    """Trivial is the records' word, not a reader's."""
    assert "too short to trace" in pretty({"n": 1}, {"/n": "trivial"})
