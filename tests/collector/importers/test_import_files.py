import json
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.collector.importers import open_files, record_files
from toolwitness.model import codec
from toolwitness.model.enums import Known, RecordKind
from toolwitness.model.exceptions import ToolwitnessError, UnknownFormatError
from toolwitness.sdk import Recorder

FIXTURES = Path(__file__).parent / "fixtures"
TAU, TAU_TOOLS = FIXTURES / "tau_small.json", FIXTURES / "tau_small_tools.json"
LIVE, LIVE_TOOLS = FIXTURES / "live_small.json", FIXTURES / "live_small_tools.json"


class _Imported:
    """One import into memory: its counts, spans, and records by kind."""

    def __init__(self, *paths, progress=None, **options):
        exporter = InMemorySpanExporter()
        self.counts = record_files(open_files(paths, **options), make_recorder=_maker(exporter), progress=progress)
        self.spans = exporter.get_finished_spans()
        self.records = [codec.decode(span.attributes) for span in self.spans]

    def of(self, kind):
        return [record for record in self.records if record.kind is kind]

    def ids(self, *without):
        return {
            (span.context.trace_id, span.context.span_id)
            for span, record in zip(self.spans, self.records, strict=True)
            if record.kind not in without
        }


def _maker(exporter):
    return lambda **given: Recorder(exporter=exporter, key=b"k" * 32, inline=True, time_known=False, **given)


@pytest.fixture(name="tau", scope="module")
def fixture_tau():
    """The made-up tau-bench file, with its tools."""
    return _Imported(TAU, tools=TAU_TOOLS)


@pytest.fixture(name="live", scope="module")
def fixture_live():
    """The made-up LiveMCPBench file, with its tools among the paths."""
    return _Imported(LIVE, LIVE_TOOLS)


def test_named_format_has_to_fit():
    """A format that there is none of, and one that no record of the file is in, are refused with what was seen."""
    with pytest.raises(UnknownFormatError, match=r"no format is called 'csv'.*livemcpbench, tau-bench"):
        _Imported(TAU, format="csv")

    with pytest.raises(
        UnknownFormatError, match=r"an object with the keys .*\(trajectory_without_messages: 3\); format tau-bench"
    ):
        _Imported(LIVE, format="tau-bench")


def test_named_format_needs_an_array(tmp_path):
    """An object cannot be a result file, whatever it is called."""
    path = tmp_path / "given.json"
    path.write_text('{"traj": []}', encoding="utf-8")

    with pytest.raises(UnknownFormatError, match="a JSON object with the keys 'traj'; format tau-bench was asked for"):
        _Imported(path, format="tau-bench")


def test_catalogue_alone_holds_no_runs():
    """Nothing but a catalogue is an error, not an import of nothing."""
    with pytest.raises(UnknownFormatError, match="no runs to import"):
        _Imported(TAU_TOOLS)


def test_tools_have_to_be_a_catalogue_of_the_format():
    """A tools file of another shape is refused before anything is recorded."""
    with pytest.raises(UnknownFormatError, match="--tools takes the tool catalogue of tau-bench"):
        _Imported(TAU, tools=LIVE_TOOLS)


def test_bad_file_among_good_ones_changes_nothing(tmp_path):
    """All files are looked at before the first run is recorded."""
    with pytest.raises(OSError, match="missing"):
        open_files([TAU, tmp_path / "missing.json"])


def test_bad_record_costs_only_itself(tau):
    """The other records are imported; the bad ones are counted by reason."""
    assert (tau.counts.runs, tau.counts.decisions, tau.counts.calls) == (2, 8, 8)
    assert tau.counts.rejected == {"trajectory_without_messages": 2, "record_is_no_object": 1, "malformed_tool_call": 1}
    assert tau.counts.orphan_results == 1


def _nested(depth):
    return '{"a": ' * depth + "1" + "}" * depth


@pytest.mark.parametrize(
    "record",
    [
        '{"task_id": "\\ud800 /x", "traj": [{"role": "user", "content": "\\ud800"}]}',
        '{"task_id": 1, "trial": 99999999999999999999, "reward": NaN, "traj": [{"role": "user", "content": "\\u0000"}]}',
        '{"task_id": 1, "traj": [{"role": "assistant", "tool_calls": [{"function": {"name": "\\udfff", "arguments": 7}}]}]}',
    ],
)
def test_strange_values_do_no_harm(tmp_path, record):
    """Lone surrogates, huge numbers and NaN cost neither their own run nor another one."""
    path = tmp_path / "strange.json"
    path.write_text(f"[{record}, {json.dumps(json.loads(TAU.read_text(encoding='utf-8'))[0])}]", encoding="utf-8")

    assert [run.run_outcome for run in _Imported(path).of(RecordKind.RUN)] == ["unknown", "success"]


def test_deep_nesting_is_a_bad_record(tmp_path):
    """A record that is nested too deeply costs only itself."""
    path = tmp_path / "deep.json"
    good = json.dumps(json.loads(TAU.read_text(encoding="utf-8"))[0])
    path.write_text(f'[{{"task_id": 1, "info": {_nested(900)}, "traj": [{{"role": "user"}}]}}, {good}]', encoding="utf-8")
    counts = _Imported(path).counts

    assert (counts.runs, counts.rejected) == (1, {"record_nested_too_deeply": 1})


def test_same_file_gives_the_same_spans():
    """Importing again makes the same ids, so that a store takes nothing twice."""
    first, second = _Imported(TAU, tools=TAU_TOOLS), _Imported(TAU, tools=TAU_TOOLS)

    assert len(first.ids()) == len(first.spans)
    assert first.ids() == second.ids()


def test_ids_do_not_hang_on_the_neighbours(tmp_path):
    """A record has the same ids in another file, at another place and beside other records."""
    records = json.loads(TAU.read_text(encoding="utf-8"))
    other = tmp_path / "other.json"
    other.write_text(json.dumps([records[1], records[0]]), encoding="utf-8")

    assert _Imported(other).ids() == _Imported(TAU).ids()


@pytest.mark.parametrize(("path", "tools"), [(TAU, TAU_TOOLS), (LIVE, LIVE_TOOLS)])
def test_ids_do_not_hang_on_the_catalogue(path, tools):
    """An import with tools after one without finds every run, decision, call and attempt there already."""
    content = (RecordKind.SCHEMA, RecordKind.TOOLSET, RecordKind.ATTEMPT_START)

    assert _Imported(path).ids(*content) == _Imported(path, tools=tools).ids(*content)


def test_repeated_record_counts_once():
    """A file given twice has the runs of one."""
    assert _Imported(TAU, TAU).counts.runs == _Imported(TAU).counts.runs


def test_definitions_are_sent_once(live):
    """Each tool definition is one span, however many runs were shown it."""
    digests = [record.definition_digest for record in live.of(RecordKind.SCHEMA)]

    assert len(digests) == len(set(digests))


def test_both_formats_in_one_import():
    """Files of different formats keep their own source."""
    both = _Imported(TAU, LIVE)

    assert {record.source for record in both.of(RecordKind.RUN)} == {"tau-bench", "livemcpbench"}
    assert both.counts.runs == 4


def test_times_are_offsets_from_a_fixed_epoch(tau):
    """Messages stand one second apart from 2000 on, and every span says that its times are not known."""
    calls = [span for span in tau.spans if span.attributes["toolwitness.record"] == "call"]

    assert {record.time_known for record in tau.records} == {False}
    assert calls[0].start_time == (946_684_800 + 2) * 10**9
    assert calls[0].end_time - calls[0].start_time == 10**9


def test_run_carries_task_trial_and_outcome(tau):
    """The run record has what the file says, and a readable id."""
    run = tau.of(RecordKind.RUN)[0]

    assert (run.task, run.trial, run.run_outcome, run.outcome_source, run.reward) == ("7", 2, "success", "reward", 1.0)
    assert run.run_id.startswith("tau-bench-7-2-")


def test_provenance_and_use_are_found(tau):
    """A value that a result brought is traced to that call in later arguments, and a bare string in the answer."""
    find, renew, *_, phone = sorted(
        (call for call in tau.of(RecordKind.CALL) if call.run_id.startswith("tau-bench-7")),
        key=lambda call: call.call_ordinal,
    )

    assert renew.argument_sources == (find.call_id,)
    assert phone.call_id in tau.of(RecordKind.DECISION)[3].answer_sources


def test_finish_says_what_a_step_came_to(tau):
    """Steps with calls were calls, a step with text alone an answer."""
    assert [record.finish for record in tau.of(RecordKind.DECISION)[:4]] == ["called", "called", "called", "answered"]


def _about(imported, call):
    gates = [record for record in imported.of(RecordKind.GATE) if record.call_id == call.call_id]
    attempts = [record for record in imported.of(RecordKind.ATTEMPT) if record.call_id == call.call_id]
    return [(gate.gate_kind, gate.verdict, gate.gate_mode) for gate in gates], [one.attempt_status for one in attempts]


def test_unreadable_arguments_that_were_refused_are_a_rejection(tau):
    """An error result for arguments that are no JSON is an enforced gate, with no attempt."""
    call = next(one for one in tau.of(RecordKind.CALL) if one.provider_call_id == "call_1")

    assert _about(tau, call) == ([("parse", "deny", "enforced")], [])


def test_unreadable_arguments_that_ran_are_no_rejection(tau):
    """Where a good result came back, the gate is only observed and the attempt counts."""
    call = next(one for one in tau.of(RecordKind.CALL) if one.provider_call_id == "call_2")

    assert _about(tau, call) == ([("parse", "deny", "observed")], ["ok"])


def test_missing_result_stays_missing(tau):
    """A call whose result the file lacks has no attempt and no observation."""
    call = next(one for one in tau.of(RecordKind.CALL) if one.provider_call_id == "call_4")

    assert _about(tau, call) == ([], [])
    assert call.observation == "none"


def test_search_is_a_discovery_record(live, tau):
    """`route` carries hits and the digest of the catalogue it searched; other calls do not."""
    search = next(call for call in live.of(RecordKind.CALL) if call.tool == "route")

    assert [(hit.server, hit.tool) for hit in search.discovery_hits][:2] == [
        ("tide-mcp", "get_tide"),
        ("Harbour Board MCP", "get_tide"),
    ]
    assert search.catalog_digest is not None
    assert all(call.discovery_hits == () for call in tau.of(RecordKind.CALL))


def test_dispatched_call_keeps_its_way(live):
    """An inner call says through which tool it came, what the outer layer said, and what was behind it."""
    call = next(call for call in live.of(RecordKind.CALL) if call.server == "Harbour Board MCP")

    assert (call.via, call.transport_status, call.observation) == ("execute-tool", "ok", "error")
    assert (call.registered, call.visible) == (Known.YES, Known.YES)


def test_cut_result_is_not_measurable(live):
    """Of a cut result it is not known how many new values it held."""
    call = next(call for call in live.of(RecordKind.CALL) if call.observation == "cut_by_recording" and call.via)

    assert call.novel_values is None


def test_decisions_know_the_candidates_of_a_search(live):
    """Decisions name what was visible and what it was found in, by digest."""
    first = live.of(RecordKind.DECISION)[0]
    without = _Imported(LIVE).of(RecordKind.DECISION)[0]

    assert (first.exposure, first.visibility) == ("tool_search", Known.YES)
    assert first.candidate_digest not in {None, first.toolset_digest}
    assert without.candidate_digest is None


def test_progress_is_told():
    """After each record it is told how many are done, of how many."""
    told = []
    _Imported(TAU, progress=lambda done, total: told.append((done, total)))

    assert told == [(done, 6) for done in range(1, 7)]


class _Full(SpanExporter):
    def export(self, spans):
        del spans
        return SpanExportResult.FAILURE


def test_undelivered_spans_are_an_error():
    """An import whose spans were not taken does not end as if all were well."""
    with pytest.raises(ToolwitnessError, match="import the same files again"):
        record_files(open_files([TAU]), make_recorder=_maker(_Full()))
