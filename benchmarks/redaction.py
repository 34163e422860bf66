"""What redaction costs for 2 KB of arguments or results, beside a deep copy and Logfire's scrubber in the same rounds.

All are measured in turns on the same 24 payloads, in CPU time of this process, so that a busy machine slows all of them
alike. Every figure is the lowest of its rounds. A ratio is that of the medians with the same payload, and the median of these
over the payloads, which are of eight kinds: some are slower and some are faster than a peer's.

    pip install 'toolwitness[bench]'
    python benchmarks/redaction.py [--gate] [--rounds 12]

With `--gate` the exit code is 1 where the default mode's ratio to a peer is above its limit, or where a large payload does not
end Clean.
"""

import argparse
import copy
import gc
import itertools
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import payloads
from logfire._internal.scrubbing import Scrubber

from toolwitness.redaction import Clean, RedactionPolicy, clean, project
from toolwitness.redaction.detect import prefilter

LOGFIRE, COPY = "Logfire's scrubber", "deep copy"
MOST_OF_LOGFIRE, MOST_OF_COPY = 1.0, 10.0
REPEATS, IMPORTS, ATTEMPTS = 20, 5, 3
KEEPS, SHAPES = RedactionPolicy(unknown="scan"), RedactionPolicy()
IMPORTING = "import time; at = time.process_time(); import {}; print(time.process_time() - at)"
ENGINES = {"RE2": True, "re": False} if prefilter.use_re2 else {"re": False}
"""What `clean` can search with here; the first is what it does by itself."""
USUAL = f"clean, unknown=shape, {next(iter(ENGINES))}"
"""What `clean(payload)` does; the others are reported."""


def candidates():
    """What is measured: a name, how to get ready, and the work on one payload."""
    scrubber = Scrubber(None)
    found = {
        COPY: (None, copy.deepcopy),
        LOGFIRE: (None, lambda payload: scrubber.scrub_value(("attributes",), payload)),
        "projection alone": (None, project),
    }
    for engine, fast in ENGINES.items():
        for unknown, policy in (("shape", SHAPES), ("scan", KEEPS)):
            found[f"clean, unknown={unknown}, {engine}"] = (fast, lambda payload, policy=policy: clean(payload, policy=policy))
    return found


def calls_of(work, all_payloads):
    """CPU microseconds of each call, by payload."""
    clock, took = time.process_time_ns, [[] for _ in all_payloads]
    for _ in range(REPEATS):
        for number, payload in enumerate(all_payloads):
            start = clock()
            work(payload)
            took[number].append((clock() - start) / 1000)
    return took


class Measured(NamedTuple):
    """What a candidate takes, in CPU microseconds; the lowest of its rounds each."""

    by_payload: list
    """The median of the calls with each payload."""
    high: float
    """The 99th percentile of all calls of a round."""


def measure(found, rounds):
    """What each candidate takes."""
    usual = payloads.usual()
    seen = {name: [] for name in found}
    for number in range(rounds + 1):
        for name, (fast, work) in found.items():
            if fast is not None:
                prefilter.use_re2 = fast
            took = calls_of(work, usual)
            if number:  # the first round warms up
                high = statistics.quantiles(itertools.chain(*took), n=100)[98]
                seen[name].append(Measured([statistics.median(calls) for calls in took], high))
    return {
        name: Measured(
            [min(each) for each in zip(*(row.by_payload for row in rows), strict=True)], min(row.high for row in rows)
        )
        for name, rows in seen.items()
    }


def times(measured, name, peer):
    """How many times as long as the peer takes with the same payload: the median over the payloads."""
    ours, theirs = measured[name].by_payload, measured[peer].by_payload
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def large(found):
    """CPU microseconds for 60 KB, and what became of it."""
    payload = payloads.large()
    out = {}
    for name, (fast, work) in found.items():
        if fast is not None:
            prefilter.use_re2 = fast
            answer = work(payload)
            ended = type(answer).__name__ + (", cut" if isinstance(answer, Clean) and answer.truncated else "")
            out[name] = (min(calls_of(work, [payload])[0]), ended)
    return out


def import_ms(module):
    """CPU milliseconds of an import in a fresh interpreter, the best of several."""
    command = [sys.executable, "-c", IMPORTING.format(module)]
    times = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(IMPORTS)]
    return min(times) * 1000


def report(measured, sizes):
    """Print the tables."""
    print(f"{'CPU for about 2 KB':34} {'median us':>10} {'p99 us':>8} {'/ Logfire':>10} {'/ deep copy':>12}")
    for name, row in measured.items():
        ratios = (times(measured, name, peer) for peer in (LOGFIRE, COPY))
        print(f"{name:34} {statistics.median(row.by_payload):10.1f} {row.high:8.1f} {next(ratios):10.2f} {next(ratios):12.2f}")
    print(f"\n{'CPU for about 60 KB':34} {'ms':>10}")
    for name, (took, ended) in sizes.items():
        print(f"{name:34} {took / 1000:10.2f} {ended}")
    print(f"\n{'import in a fresh interpreter':34} {'CPU ms':>10}")
    for module in ("toolwitness.redaction", "logfire"):
        print(f"{module:34} {import_ms(module):10.1f}")


def failed(measured, sizes):
    """What is above its limit, in words."""
    said = [f"{name}: a large payload ended {ended}" for name, (_, ended) in sizes.items() if not ended.startswith("Clean")]
    for name in sizes:
        for peer, most in ((LOGFIRE, MOST_OF_LOGFIRE), (COPY, MOST_OF_COPY)):
            ratio = times(measured, name, peer)
            if name == USUAL and ratio > most:
                said.append(f"{name}: {ratio:.2f} times {peer}, where {most:.0f} is the limit")
    return said


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--gate", action="store_true", help="end with 1 where a limit is passed")
parser.add_argument("--rounds", type=int, default=12)
options = parser.parse_args()
gc.disable()
for _ in range(ATTEMPTS if options.gate else 1):  # a shared machine may be busy with something else for a while
    results = measure(candidates(), options.rounds)
    of_large = large(candidates())
    report(results, of_large)
    problems = failed(results, of_large)
    if not problems:
        break
print("\n" + "\n".join(problems or ["within the limits"]))
sys.exit(bool(options.gate and problems))
