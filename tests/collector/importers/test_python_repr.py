import pytest

from toolwitness.collector.importers.python_repr import CallResult, read_call_result


def _repr(text, tail="annotations=None)] isError=False"):
    return f"meta=None content=[TextContent(type='text', text={text!r}, {tail}"


@pytest.mark.parametrize(
    "text",
    ["plain", "it's", 'say "hi"', "both ' and \"", "line\nnext\ttab\r", "back\\slash \\n", "中文 \u2028 \x07 \U0001f600", ""],
)
def test_text_comes_back_as_it_was(text):
    """Any string that Python can show is read back exactly."""
    assert read_call_result(_repr(text)) == CallResult((text,), is_error=False, complete=True)


def test_outer_error_is_read():
    """The result's own error flag is told."""
    assert read_call_result(_repr("no", "annotations=None)] isError=True")).is_error is True


def test_wrapped_form_is_read():
    """The repr with the class's name around it says the same as the bare one."""
    assert read_call_result("CallToolResult(content=[], isError=True)") == CallResult((), is_error=True, complete=True)


def test_other_contents_are_passed_over():
    """Contents without text, nested objects, bytes and enum members do not disturb the texts beside them."""
    text = (
        "_meta={'a': [1, -2.5e3, None]} content=[ImageContent(type='image', data=b'\\x00', mimeType='image/png'), "
        "TextContent(type='text', text='one', annotations=Annotations(audience=['user'], kind=<Kind.A: 'a'>)), "
        "EmbeddedResource(resource=TextResourceContents(uri=AnyUrl('file:///x'), text='two'))] "
        "structuredContent={'isError': True} isError=False"
    )

    assert read_call_result(text) == CallResult(("one", "two"), is_error=False, complete=True)


@pytest.mark.parametrize("cut_in", ["text=", "'abc", "\\", "\\u4e", "annot", ")", "] isErr"])
def test_cut_text_keeps_what_is_there(cut_in):
    """A repr that breaks off, even inside an escape, gives what was read and says that it is not complete."""
    whole = "meta=None content=[TextContent(type='text', text='abc\\\\\\u4e2d', annotations=None)] isError=False"
    result = read_call_result(whole[: whole.index(cut_in) + len(cut_in)])

    assert (result.is_error, result.complete) == (None, False)
    assert all("abc\\中".startswith(text) for text in result.texts)


def test_every_prefix_is_survived():
    """No place to break off makes reading fail or look complete."""
    whole = _repr("a\\'\"中\n")
    results = [read_call_result(whole[:length]) for length in range(len("meta="), len(whole) - len("alse"))]

    assert not any(result.complete for result in results)


@pytest.mark.parametrize("text", ["", "Tool call timed out.", '{"isError": false}', "metadata=1", "content is king"])
def test_other_text_is_not_taken_for_a_result(text):
    """Text in another shape is answered with None."""
    assert read_call_result(text) is None


@pytest.mark.parametrize("text", ["content=[" * 2000, "content=[" + "(" * 5000, "content=[}", "content=[,,'a"])
def test_hostile_text_ends_as_incomplete(text):
    """Deep nesting and stray brackets are told as incomplete, without an exception."""
    assert read_call_result(text).complete is False


def test_nothing_is_evaluated():
    """Text that would act if evaluated is only read."""
    text = "content=[TextContent(text='x', annotations=__import__('os').abort())] isError=False"

    assert read_call_result(text).texts == ("x",)
