import gzip
from pathlib import Path

import pytest

from toolwitness.collector.importers import FORMATS, recognise
from toolwitness.model.exceptions import BrokenFileError, UnknownFormatError

FIXTURES = Path(__file__).parent / "fixtures"
TAU, TAU_TOOLS = FIXTURES / "tau_small.json", FIXTURES / "tau_small_tools.json"
LIVE, LIVE_TOOLS = FIXTURES / "live_small.json", FIXTURES / "live_small_tools.json"


@pytest.mark.parametrize(
    ("path", "name"), [(TAU, "tau-bench"), (TAU_TOOLS, "tau-bench"), (LIVE, "livemcpbench"), (LIVE_TOOLS, "livemcpbench")]
)
def test_format_is_recognised(path, name):
    """Results and catalogues are recognised by their content."""
    assert recognise(path) == name


def test_gzip_is_recognised_by_content(tmp_path):
    """A gzipped file is read whatever its name ends in."""
    packed = tmp_path / "results.dat"
    packed.write_bytes(gzip.compress(TAU.read_bytes()))

    assert recognise(packed) == "tau-bench"


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("name,reward\n1,2\n", "not JSON: starts with 'name,reward"),
        ("", "an empty file"),
        ("\x00\x01\x02\x1b[31m", "not JSON but 8 bytes of binary data"),
        ('{"a": 1}\n{"a": 2}\n', "several JSON values one after another, as in JSON lines"),
        ('{"runs": [], "version": 3}', "a JSON object with the keys 'runs', 'version'"),
        ('[{"prompt": 1, "answer": 2}]', "a JSON array of 1, the first item an object with the keys 'prompt', 'answer'"),
        ("[1, 2]", "a JSON array of 2, the first item of type int"),
        ("[]", "an empty JSON array"),
        ('"text"', "a single JSON value of type str"),
    ],
)
def test_unknown_input_says_what_was_seen(tmp_path, content, seen):
    """The error names the file and what stands in it."""
    path = tmp_path / "given.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(UnknownFormatError) as caught:
        recognise(path)

    assert str(path) in str(caught.value)
    assert seen in str(caught.value)


def test_unknown_input_says_what_is_supported(tmp_path):
    """And which formats there are, and how to name one."""
    path = tmp_path / "given.json"
    path.write_text("{}", encoding="utf-8")

    with pytest.raises(UnknownFormatError) as caught:
        recognise(path)

    assert all(name in str(caught.value) for name in (*FORMATS, "--format"))


@pytest.mark.parametrize(
    "content",
    [TAU.read_bytes()[:900], gzip.compress(TAU.read_bytes())[:-20], b"\x1f\x8bnothing", b"[" * 100_000],
    ids=["cut JSON", "cut gzip", "no gzip", "bottomless"],
)
def test_broken_files_are_named(tmp_path, content):
    """Truncated JSON, truncated or damaged gzip and bottomless nesting are told as such."""
    path = tmp_path / "broken.json"
    path.write_bytes(content)

    with pytest.raises(BrokenFileError, match=r"broken\.json"):
        recognise(path)
