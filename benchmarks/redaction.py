"""What redaction costs for 2 KB of arguments or results, beside a deep copy and Logfire's scrubber in the same rounds.

All are measured in turns on the same 24 payloads, in CPU time of this process, so that a busy machine slows all of them
alike. Every figure is the lowest of its rounds; the medians and 99th percentiles are those of the single calls of a round.

    pip install 'toolwitness[bench]'
    python benchmarks/redaction.py [--gate] [--rounds 12]

With `--gate` the exit code is 1 where a ratio to a peer is above its limit, or a large payload does not end Clean.
"""

import argparse
import copy
import gc
import statistics
import subprocess
import sys
import time

import payloads
from logfire._internal.scrubbing import Scrubber

from toolwitness.redaction import Clean, RedactionPolicy, clean, project
from toolwitness.redaction.detect import prefilter

MOST_OF_LOGFIRE, MOST_OF_COPY = 1.0, 10.0
REPEATS, IMPORTS = 20, 5
KEEPS, SHAPES = RedactionPolicy(unknown="scan"), RedactionPolicy()
IMPORTING = "import time; at = time.process_time(); import {}; print(time.process_time() - at)"
ENGINES = {"RE2": True, "re": False} if prefilter.use_re2 else {"re": False}
"""What `clean` can search with here; the first is what it does by itself."""


def candidates():
    """What is measured: a name, how to get ready, and the work on one payload."""
    scrubber = Scrubber(None)
    found = {
        "deep copy": (None, copy.deepcopy),
        "Logfire's scrubber": (None, lambda payload: scrubber.scrub_value(("attributes",), payload)),
        "projection alone": (None, project),
    }
    for engine, fast in ENGINES.items():
        for unknown, policy in (("shape", SHAPES), ("scan", KEEPS)):
            found[f"clean, unknown={unknown}, {engine}"] = (fast, lambda payload, policy=policy: clean(payload, policy=policy))
    return found


def calls_of(work, all_payloads):
    """CPU microseconds of each call."""
    clock, took = time.process_time_ns, []
    for _ in range(REPEATS):
        for payload in all_payloads:
            start = clock()
            work(payload)
            took.append((clock() - start) / 1000)
    return took


def measure(found, rounds):
    """(median, 99th percentile) of each candidate, the lowest of its rounds each."""
    usual = payloads.usual()
    seen = {name: [] for name in found}
    for number in range(rounds + 1):
        for name, (fast, work) in found.items():
            if fast is not None:
                prefilter.use_re2 = fast
            took = calls_of(work, usual)
            if number:  # the first round warms up
                seen[name].append((statistics.median(took), statistics.quantiles(took, n=100)[98]))
    return {name: tuple(map(min, zip(*rows, strict=True))) for name, rows in seen.items()}


def large(found):
    """CPU microseconds for 60 KB, and what became of it."""
    payload = payloads.large()
    out = {}
    for name, (fast, work) in found.items():
        if fast is not None:
            prefilter.use_re2 = fast
            answer = work(payload)
            ended = type(answer).__name__ + (", cut" if isinstance(answer, Clean) and answer.truncated else "")
            out[name] = (min(calls_of(work, [payload])), ended)
    return out


def import_ms(module):
    """CPU milliseconds of an import in a fresh interpreter, the best of several."""
    command = [sys.executable, "-c", IMPORTING.format(module)]
    times = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(IMPORTS)]  # noqa: S603 -- this very interpreter
    return min(times) * 1000


def report(measured, sizes):
    """Print the tables."""
    logfire, deep = measured["Logfire's scrubber"][0], measured["deep copy"][0]
    print(f"{'CPU for about 2 KB':34} {'median us':>10} {'p99 us':>8} {'/ Logfire':>10} {'/ deep copy':>12}")
    for name, (median, high) in measured.items():
        print(f"{name:34} {median:10.1f} {high:8.1f} {median / logfire:10.2f} {median / deep:12.2f}")
    print(f"\n{'CPU for about 60 KB':34} {'ms':>10}")
    for name, (took, ended) in sizes.items():
        print(f"{name:34} {took / 1000:10.2f} {ended}")
    print(f"\n{'import in a fresh interpreter':34} {'CPU ms':>10}")
    for module in ("toolwitness.redaction", "logfire"):
        print(f"{module:34} {import_ms(module):10.1f}")


def failed(measured, sizes):
    """What is above its limit, in words."""
    logfire, deep = measured["Logfire's scrubber"][0], measured["deep copy"][0]
    ours = {name: median for name, (median, _) in measured.items() if name in sizes}
    best = [name for name in ours if name.endswith(f" {next(iter(ENGINES))}")]
    said = [f"{name}: a large payload ended {ended}" for name, (_, ended) in sizes.items() if not ended.startswith("Clean")]
    said += [f"{name}: {ours[name] / logfire:.2f} times Logfire" for name in best if ours[name] / logfire > MOST_OF_LOGFIRE]
    return said + [f"{name}: {ours[name] / deep:.2f} times a deep copy" for name in best if ours[name] / deep > MOST_OF_COPY]


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--gate", action="store_true", help="end with 1 where a limit is passed")
parser.add_argument("--rounds", type=int, default=12)
options = parser.parse_args()
gc.disable()
results = measure(candidates(), options.rounds)
of_large = large(candidates())
report(results, of_large)
problems = failed(results, of_large)
print("\n" + "\n".join(problems or ["within the limits"]))
sys.exit(bool(options.gate and problems))
