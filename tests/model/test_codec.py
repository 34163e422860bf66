"""Records as span attributes and back."""

import dataclasses
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.model import codec, names
from toolwitness.model.digest import KeyedDigest
from toolwitness.model.enums import Known, Origin, RecordKind
from toolwitness.model.records import RECORD_TYPES, Call, Json, LeafOrigin, Run

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    KeyedDigest: st.text("0123456789abcdef", min_size=32, max_size=32),
    Json: st.recursive(st.none() | TEXT | st.integers(), lambda inner: st.lists(inner, max_size=3)).map(json.dumps),
}


def values(annotation):
    """A strategy for one record field."""
    parts = [part for part in typing.get_args(annotation) if part is not type(None)]
    if typing.get_origin(annotation) is tuple:
        return st.lists(values(parts[0]), max_size=3).map(tuple)
    if parts:
        return st.none() | values(parts[0])
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        return st.builds(annotation, **{name: values(hint) for name, hint in hints.items()})
    return PLAIN[annotation] if annotation in PLAIN else st.sampled_from(annotation)


def records():
    """A strategy for records of every kind."""
    kinds = [
        st.builds(cls, **{name: values(hint) for name, hint in codec.FIELDS_OF[kind].items()})
        for kind, cls in RECORD_TYPES.items()
    ]
    return st.one_of(kinds)


@given(records())
def test_a_record_survives_the_wire(record):
    """Decoding what was encoded gives the same record."""
    assert record == codec.decode(codec.encode(record))


@given(records())
def test_attributes_are_of_types_that_opentelemetry_takes(record):
    """Every value is a string, boolean, integer, float or a tuple of strings."""
    for value in codec.encode(record).values():
        assert type(value) in {str, bool, int, float} or all(type(item) is str for item in value)


def test_every_kind_has_a_record_type():
    """No kind of record is without its class."""
    assert set(RecordKind) == set(RECORD_TYPES)


def test_the_names_are_those_of_the_fields():
    """Every field has one attribute name and no name is left over or given twice."""
    fields = {name for hints in codec.FIELDS_OF.values() for name in hints}
    assert fields == set(names.ATTRIBUTE_OF)
    assert len(set(names.ATTRIBUTE_OF.values())) == len(names.ATTRIBUTE_OF)


def test_a_field_name_means_one_type():
    """The same field name has the same type in every record, so that it can be one column."""
    seen = {}
    for hints in codec.FIELDS_OF.values():
        for name, hint in hints.items():
            kinds = {part for part in (typing.get_args(hint) or (hint,)) if part is not type(None)}
            assert seen.setdefault(name, kinds) == kinds


def test_opentelemetry_names_are_used_where_they_exist():
    """Another tool that reads GenAI conventions finds the operation, the tool, its call id, arguments and result."""
    attributes = codec.encode(
        Call(
            run_id="r",
            call_id="c",
            call_ordinal=1,
            tool="pay",
            provider_call_id="call_1",
            arguments=Json("{}"),
            result=Json("1"),
        )
    )
    assert {name: attributes[name] for name in attributes if name.startswith("gen_ai.")} == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": "{}",
        "gen_ai.tool.call.result": "1",
    }


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("toolwitness.run.outcome", "brilliant"),
        ("toolwitness.run.reward", "1.0"),
        ("toolwitness.run.trial", 1.5),
        ("toolwitness.run.inferred", 1),
        ("gen_ai.agent.name", 7),
        ("toolwitness.run.labels", "{not json"),
        ("toolwitness.subject.digest", "customer-17"),
    ],
)
def test_a_value_outside_its_domain_is_refused(attribute, value):
    """An enum, number, boolean, string or JSON column takes nothing else."""
    with pytest.raises((ValueError, TypeError)):
        codec.decode({**codec.encode(Run(run_id="r")), attribute: value})


def test_a_missing_needed_field_is_refused():
    """A call without its id is no call."""
    with pytest.raises(TypeError, match="call_id"):
        codec.decode({names.RECORD: "call", "toolwitness.run.id": "r", "toolwitness.call.ordinal": 1, "gen_ai.tool.name": "x"})


def test_an_unregistered_name_is_no_span_name():
    """Model text never becomes the name of a span."""
    call = Call(run_id="r", call_id="c", call_ordinal=1, tool="please pay bob", registered=Known.NO)
    assert codec.span_name(call) == "execute_tool (unregistered)"


def test_nested_records_travel_as_json():
    """Origins of argument leaves are one JSON attribute."""
    call = Call(run_id="r", call_id="c", call_ordinal=1, tool="x", provenance=(LeafOrigin("/a", Origin.USER),))
    assert json.loads(codec.encode(call)["toolwitness.call.provenance"]) == [{"pointer": "/a", "origin": "user"}]
