"""Files of other tools and benchmarks, read into the same records that a live agent emits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from toolwitness.collector.importers import livemcpbench, tau_bench
from toolwitness.collector.importers.catalogue import Catalogue
from toolwitness.collector.importers.emit import EPOCH_NS, RecordIds, Stage, emit
from toolwitness.collector.importers.files import describe, load_json
from toolwitness.collector.importers.trajectory import RecordError, Trajectory
from toolwitness.model.exceptions import ToolwitnessError, UnknownFormatError
from toolwitness.sdk.clock import Clock, Ids, ManualClock
from toolwitness.sdk.recorder import Recorder

__all__ = ["FORMATS", "Format", "ImportCounts", "MakeRecorder", "Opened", "open_files", "recognise", "record_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One file format: how its files look, and how its records and its tool catalogue are read."""

    name: str
    is_records: Callable[[Any], bool]
    is_catalogue: Callable[[Any], bool]
    read_record: Callable[[Any, Catalogue | None], Trajectory]
    read_catalogue: Callable[[Any], Catalogue]


FORMATS = {
    module.NAME: Format(
        name=module.NAME,
        is_records=module.is_records,
        is_catalogue=module.is_catalogue,
        read_record=module.read_record,
        read_catalogue=module.read_catalogue,
    )
    for module in (tau_bench, livemcpbench)
}
"""Every format by the name that `--format` takes."""


class MakeRecorder(Protocol):
    """How the caller makes the recorder of a format's runs: it adds exporter and key, the importer says the rest.

    The recorder has to be inline and its times are not known: `Recorder(exporter=..., key=..., inline=True,
    time_known=False, source=source, ids=ids, clock=clock)`.
    """

    def __call__(self, *, source: str, ids: Ids, clock: Clock) -> Recorder:
        """Make a recorder that labels its records with `source` and takes ids and times from those given."""


@dataclass(slots=True)
class ImportCounts:
    """What was read: distinct runs with their decisions and calls, and records that could not be read, by reason.

    `orphan_results` counts results that stand in a run without a call that they could belong to; they are left out.
    """

    runs: int = 0
    decisions: int = 0
    calls: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    orphan_results: int = 0


class Source(NamedTuple):
    """One file's content and its format; a catalogue or records."""

    path: Path
    data: Any
    format: Format
    is_catalogue: bool


def _unknown(seen: str, wanted: str | None = None) -> UnknownFormatError:
    supported = ", ".join(sorted(FORMATS))
    asked = f"; format {wanted} was asked for" if wanted else ""
    return UnknownFormatError(
        f"{seen}{asked}; supported are JSON files, plain or gzipped, of the formats {supported} (--format NAME)"
    )


def _read(path: Path) -> Any:
    try:
        return load_json(path)
    except UnknownFormatError as error:
        raise _unknown(str(error)) from error


def _format_named(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownFormatError(f"no format is called {name!r}; --format takes one of: {', '.join(sorted(FORMATS))}")
    return FORMATS[name]


def _open(path: Path, wanted: Format | None) -> Source:
    data = _read(path)
    for candidate in FORMATS.values() if wanted is None else (wanted,):
        if candidate.is_records(data):
            return Source(path, data, candidate, is_catalogue=False)
        if candidate.is_catalogue(data):
            return Source(path, data, candidate, is_catalogue=True)
    if wanted is not None and isinstance(data, list):
        return Source(path, data, wanted, is_catalogue=False)
    raise _unknown(f"{path}: {describe(data)}", None if wanted is None else wanted.name)


def recognise(path: str | Path) -> str:
    """The name of the format that a file is in; a tool catalogue counts as its format's.

    Raises UnknownFormatError, which says what was seen and what is supported, and BrokenFileError.
    """
    return _open(Path(path), None).format.name


def _open_tools(path: Path, formats: Sequence[Format]) -> dict[str, Catalogue]:
    data = _read(path)
    fitting = [known for known in formats if known.is_catalogue(data)]
    if not fitting:
        names = ", ".join(known.name for known in formats)
        raise UnknownFormatError(f"{path}: {describe(data)}; --tools takes the tool catalogue of {names}")
    return {known.name: known.read_catalogue(data) for known in fitting}


class Opened(NamedTuple):
    """Files that were opened and recognised: those with records, and the tool catalogues by format."""

    records: list[Source]
    catalogues: dict[str, Catalogue]


def _trajectory(known: Format, record: Any, catalogue: Catalogue | None) -> Trajectory:
    """One run; raises RecordError with the reason where the record cannot be read."""
    try:
        return known.read_record(record, catalogue)
    except RecursionError as error:
        raise RecordError("record_nested_too_deeply") from error


def _refuse_unreadable(known: Source, catalogue: Catalogue | None) -> None:
    """Raise UnknownFormatError where no record of a file can be read: it is of another format then."""
    reasons: Counter[str] = Counter()
    for record in known.data:
        try:
            _trajectory(known.format, record, catalogue)
        except RecordError as error:
            reasons[error.reason] += 1
        else:
            return
    told = ", ".join(f"{reason}: {count}" for reason, count in reasons.items())
    none = f", none of which can be read ({told})" if told else ""
    raise _unknown(f"{known.path}: {describe(known.data)}{none}", known.format.name)


def open_files(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,  # noqa: A002 -- the option's name
    tools: str | Path | None = None,
) -> Opened:
    """Open and recognise files, so that a wrong one is found before anything is recorded.

    `format` is recognised a file where it is not given. `tools` is a file with the tool catalogue, which may stand among
    `paths` as well. Raises UnknownFormatError, also where no record of a file can be read, BrokenFileError and OSError.
    """
    wanted = None if format is None else _format_named(format)
    sources = [_open(Path(path), wanted) for path in paths]
    catalogues = {known.format.name: known.format.read_catalogue(known.data) for known in sources if known.is_catalogue}
    records = [known for known in sources if not known.is_catalogue]
    if not records:
        raise UnknownFormatError(f"no runs to import: {', '.join(map(str, paths)) or 'no file'} holds none; name a result file")
    if tools is not None:
        catalogues |= _open_tools(Path(tools), list({known.format.name: known.format for known in records}.values()))
    for known in records:
        _refuse_unreadable(known, catalogues.get(known.format.name))
    return Opened(records, catalogues)


def record_files(
    opened: Opened, *, make_recorder: MakeRecorder, progress: Callable[[int, int], None] | None = None
) -> ImportCounts:
    """Record every run of opened files; a record that cannot be read costs only itself and is counted.

    `progress` is told how many records are done, and of how many. Raises ToolwitnessError where the spans could not be
    delivered.
    """
    session = _Session(make_recorder, opened.catalogues)
    total, done = sum(len(known.data) for known in opened.records), 0
    for known in opened.records:
        for record in known.data:
            session.take(known.format, record)
            done += 1
            if progress is not None:
                progress(done, total)
    session.close()
    return session.counts


class _Session:
    """One import: what it found so far."""

    def __init__(self, make_recorder: MakeRecorder, catalogues: dict[str, Catalogue]) -> None:
        self.counts = ImportCounts()
        self._make_recorder = make_recorder
        self._catalogues = catalogues
        self._stages: dict[str, Stage] = {}
        self._seen: set[str] = set()

    def take(self, known: Format, record: Any) -> None:
        """Record one run, or count why it cannot be read."""
        catalogue = self._catalogues.get(known.name)
        try:
            trajectory = _trajectory(known, record, catalogue)
        except RecordError as error:
            self.counts.rejected[error.reason] += 1
            return
        emit(trajectory, self._stage(known), catalogue)
        self._count(trajectory)

    def close(self) -> None:
        """Deliver what there is; raises ToolwitnessError where that fails."""
        for stage in self._stages.values():
            if not stage.recorder.flush():
                raise ToolwitnessError(
                    "not everything that was read could be stored; import the same files again, nothing is stored twice"
                )
            stage.recorder.close()

    def _stage(self, known: Format) -> Stage:
        """The recorder of a format: one for all its runs, so that each tool definition is sent once."""
        if known.name not in self._stages:
            ids, clock = RecordIds(), ManualClock(EPOCH_NS)
            self._stages[known.name] = Stage(self._make_recorder(source=known.name, ids=ids, clock=clock), ids, clock)
        return self._stages[known.name]

    def _count(self, trajectory: Trajectory) -> None:
        if trajectory.run_id in self._seen:
            return
        self._seen.add(trajectory.run_id)
        self.counts.runs += 1
        self.counts.decisions += len(trajectory.steps)
        self.counts.calls += len(trajectory.calls)
        self.counts.orphan_results += trajectory.orphan_results
