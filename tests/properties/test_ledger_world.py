"""What toolwitness claims of writes, held against a world that knows what truly committed.

It holds where journal writes succeed, status answers are true, no clock runs behind that of those who ask, and what a service
declares of itself (`settle_after`) is so.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from toolwitness.model.names import PROCESS_DIED
from toolwitness.tests.factories import SECOND_NS
from toolwitness.tests.properties.ledger_world import DAY_NS, ENDS, FATES, TOOLS, World, open_copy

NOT_COMMITTED = {"failed", "rejected", "skipped", "cancelled", "business_rejected"}
COMMITTED = {"succeeded", "empty", "partial"}
LISTED = {"unknown_commit", "indeterminate", "pending"}
PICKS = st.sampled_from([-1, -1, -1, -2, -3])
"""Which of several: the latest, mostly, so that much happens to one."""
SEEDS = st.integers(0, 2**16)
GATES = st.sampled_from(
    [
        ("policy", "allow", False),
        ("policy", "deny", False),
        ("policy", "deny", True),
        ("confirmation", "needs_approval", False),
        ("dependency", "skip", False),
        ("input_validation", "modify", False),
        ("budget", "deny", False),
        ("output_validation", "deny", False),
    ]
)
WORDS = st.sampled_from(["true", "true", "true", "ok", "error", "business", "envelope", "nothing", "cut", "wire"])
TRIES = st.lists(
    st.tuples(st.sampled_from(FATES), st.sampled_from(["answer"] * 5 + list(ENDS)), st.booleans()), min_size=1, max_size=3
)
TOOL = st.sampled_from(sorted(TOOLS))
SHARES = st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.0])
WAITS = st.sampled_from([SECOND_NS, 61 * SECOND_NS, 16 * 60 * SECOND_NS, 2 * DAY_NS])


def picked(several, pick):
    """One of several."""
    return several[pick % len(several)]


def calls_in(store):
    """The calls in a file, by id."""
    found = store.read(lambda cursor: cursor.sql("select * from calls").to_arrow_table().to_pylist())
    return {row["call_id"]: row for row in found}


class LedgerWorld(RuleBasedStateMachine):
    """Moves agent, service, wire, collector and those who ask, and looks at the claims after every step."""

    @initialize(seed=SEEDS)
    def begin_the_world(self, seed):
        """A fresh world with an empty collector."""
        self.folder = Path(tempfile.mkdtemp())
        self.world = World(self.folder, seed)
        self.stored, self.twins = {}, {}
        self.store = self.open_store("ledger.duckdb")
        self.looked_at = None

    def open_store(self, name):
        """A collector's file on the world's true time."""
        return open_copy(self.folder / name, lambda: self.world.now)

    # -- picking ---------------------------------------------------------------------------------------------------

    def open_orders(self):
        """Calls that the living process holds."""
        return [order for order in self.world.orders if order.scope is not None]

    def ready(self):
        """Those of them that wait for nobody."""
        return [order for order in self.open_orders() if not order.held]

    def under_way(self):
        """Attempts that have not ended for the agent, with their calls."""
        return [(order, each) for order in self.world.orders for each in order.tries if each.under_way]

    # -- the agent -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.world.recorder is not None)
    @rule(tool=TOOL)
    def propose(self, tool):
        """The model wants a call."""
        self.world.propose(tool)
        self.world.tick()

    @precondition(lambda self: self.ready())
    @rule(pick=PICKS, gate=GATES)
    def check(self, pick, gate):
        """A gate answers."""
        orders = self.ready()
        order = picked(orders, pick)
        kind, verdict, observed = gate
        if not any(each.under_way for each in order.tries):
            self.world.gate(order, kind, verdict, observed=observed)
            self.world.tick()

    @precondition(lambda self: any(order.held for order in self.open_orders()))
    @rule(pick=PICKS, verdict=st.sampled_from(["allow", "allow", "deny"]), elsewhere=st.booleans())
    def answer_approval(self, pick, verdict, elsewhere):
        """Somebody answers a call that waits, in a span of its own where its run had ended."""
        orders = [order for order in self.open_orders() if order.held]
        order = picked(orders, pick)
        if elsewhere:
            self.world.resume(order)
        self.world.gate(order, "confirmation", verdict)
        self.world.tick()

    @precondition(lambda self: self.open_orders())
    @rule(pick=PICKS)
    def call_off(self, pick):
        """Somebody cancels a call: before it began, while it runs, or too late."""
        self.world.cancel(picked(self.open_orders(), pick))
        self.world.tick()

    @precondition(lambda self: self.ready())
    @rule(pick=PICKS)
    def begin(self, pick):
        """An attempt begins, beside others where some are under way."""
        orders = self.ready()
        order = picked(orders, pick)
        self.world.begin(order)
        if any("found not_committed" in line for line in order.story):
            self.deliver_all()  # of what begins after somebody looked, nobody can know before it is told
        self.world.tick()

    @precondition(lambda self: any(each.fate is None for _, each in self.under_way()))
    @rule(pick=PICKS, fate=st.sampled_from(FATES))
    def send(self, pick, fate):
        """A request reaches the service."""
        unsent = [pair for pair in self.under_way() if pair[1].fate is None]
        self.world.send(*picked(unsent, pick), fate)
        self.world.tick()

    @precondition(lambda self: self.under_way())
    @rule(pick=PICKS, end=st.sampled_from(ENDS), plainly=st.booleans())
    def finish(self, pick, end, plainly):
        """An attempt ends for the agent."""
        pairs = self.under_way()
        self.world.finish(*picked(pairs, pick), end, plainly=plainly)
        self.world.tick()

    @precondition(lambda self: self.ready())
    @rule(pick=PICKS, words=WORDS)
    def tell(self, pick, words):
        """The loop tells what came back and goes on."""
        orders = self.ready()
        self.world.tell(picked(orders, pick), words)
        self.world.tick()

    @precondition(lambda self: self.ready())
    @rule(pick=PICKS, tries=TRIES, words=st.none() | WORDS)
    def submit(self, pick, tries, words):
        """Whole attempts, one after another, and the call's end unless it will be tried again."""
        order = picked(self.ready(), pick)
        for fate, end, plainly in tries:
            self.begin(self.ready().index(order))
            attempt = order.tries[-1]
            if end != "never sent":
                self.world.send(order, attempt, fate)
                self.world.tick()
            self.world.finish(order, attempt, end, plainly=plainly)
            self.world.tick()
        if words is not None:
            self.world.tell(order, words)
            self.world.tick()

    @precondition(lambda self: self.world.recorder is not None)
    @rule(tool=TOOL, tries=TRIES, words=st.none() | WORDS, share=SHARES)
    def play(self, tool, tries, words, share):
        """A call from its proposal on, of which some is known soon."""
        self.propose(tool)
        self.submit(-1, tries, words)
        self.ship(flush=True, share=share)

    @precondition(lambda self: self.world.recorder is not None)
    @rule(how=st.sampled_from(["crash", "crash", "end"]))
    def leave(self, how):
        """The agent's process dies, or ends as it should."""
        getattr(self.world, how)()

    @precondition(lambda self: self.world.recorder is None)
    @rule()
    def start(self):
        """The next process begins."""
        self.world.start()

    # -- the way to the collector ----------------------------------------------------------------------------------

    @rule(flush=st.booleans(), share=SHARES)
    def ship(self, flush, share):
        """The recorder hands over what it has; some of what is under way arrives, in any order, some of it twice."""
        if flush and self.world.recorder is not None:
            self.world.recorder.flush()
        rows = self.world.random.sample(self.world.wire.rows, round(share * len(self.world.wire.rows)))
        self.world.wire.rows = [row for row in self.world.wire.rows if row not in rows]
        if rows:
            self.arrive(rows, twice=self.world.random.sample(rows, len(rows) // 2))

    def arrive(self, rows, twice=()):
        """Rows reach the file; the first of an identity stays, whatever the second says."""
        for row in rows:
            key = row["trace_id"], row["span_id"]
            if self.stored.setdefault(key, row) != row:
                self.twins[key] = row
        self.store.write_group([rows, list(twice)])
        self.looked_at = None

    def deliver_all(self):
        """Everything that the living process knows arrives."""
        way, self.world.wire.way = self.world.wire.way, "open"
        if self.world.recorder is not None:
            assert self.world.recorder.flush()
        self.world.wire.way = way
        rows, self.world.wire.rows = self.world.wire.rows, []
        if rows:
            self.arrive(rows)

    # -- time, the collector, and those who ask --------------------------------------------------------------------

    @rule(change=st.sampled_from(["open", "closed", "deaf", "clock", "collector"]) | WAITS)
    def turn(self, change):
        """Time passes, the way to the collector or the agent's clock changes, or the collector ends and begins again."""
        if change in {"open", "closed", "deaf"}:
            self.world.wire.way = change
        elif change == "clock":
            self.world.ahead_ns = 0 if self.world.ahead_ns else 5 * SECOND_NS
        elif change == "collector":
            self.store.close()
            self.store = self.open_store("ledger.duckdb")
        else:
            self.world.tick(change)
            self.store.derive_open()
        self.looked_at = None

    @rule(pick=PICKS, how=st.sampled_from(["query", "query", "refused for good", "shrug"]))
    def ask(self, pick, how):
        """Somebody asks the service about a call that toolwitness knows."""
        rows = sorted(self.rows().values(), key=lambda row: row["call_id"])
        if rows:
            row = picked(rows, pick)
            self.world.find_out(self.order_of(row), row, how)
            self.world.tick()

    # -- what is claimed -------------------------------------------------------------------------------------------

    def rows(self):
        """The calls in the file, by id."""
        return calls_in(self.store)

    def order_of(self, row):
        """The call as the world knows it."""
        return next(order for order in self.world.orders if order.id == row["call_id"])

    @invariant()
    def no_claim_is_untrue(self):
        """No write is called undone that took or may take effect, and none done that did not."""
        if self.looked_at == (seen := self.mark()):
            return
        self.check_claims(self.rows())
        self.looked_at = seen

    def mark(self):
        """What changes with whatever may make a claim untrue."""
        return [(order.may_commit(), order.committed(self.world.now)) for order in self.world.orders]

    def check_claims(self, rows):
        """Every claim about a write against the books."""
        for row in rows.values():
            order = self.order_of(row)
            if order.writes:
                self.check_claim(order, row)

    def check_claim(self, order, row):
        """One row against the books."""
        said = f"{order.tool}: {row['outcome']}, settled {row['settled']}, after: {'; '.join(order.story)}"
        if row["outcome"] in NOT_COMMITTED:
            assert not order.may_commit(), said
        if row["outcome"] in COMMITTED:
            assert order.committed(self.world.now), said
        if row["outcome"] in {"rejected", "skipped"}:
            assert not order.tries, said

    # -- the end ---------------------------------------------------------------------------------------------------

    def teardown(self):
        """When all has arrived and time has passed, nothing is missing and all can be settled; not after a failure."""
        if not hasattr(self, "store"):
            return
        try:
            if sys.exc_info()[0] is None:
                self.come_to_rest()
                self.check_rest()
                self.check_orders()
                self.settle()
        finally:
            self.store.close()
            shutil.rmtree(self.folder)

    def come_to_rest(self):
        """The process ends, the next one adopts what it left, everything arrives, and nobody waits any longer."""
        self.world.wire.way = "open"
        if self.world.recorder is not None:
            self.world.random.choice([self.world.crash, self.world.end])()
        self.world.start()
        self.deliver_all()
        self.world.tick(16 * 60 * SECOND_NS)
        self.store.derive_open()
        self.looked_at = None
        self.no_claim_is_untrue()

    def check_rest(self):
        """Every write that was tried is there, and listed unless its truth is claimed."""
        rows = self.rows()
        listed = {row["call"] for row in self.store.query("unknown_commits", {"now_ns": self.world.now}).to_pylist()}
        for order in self.world.orders:
            if order.writes and order.tries:
                said = f"{order.tool} after: {'; '.join(order.story)}"
                assert order.id in rows, said
                outcome = rows[order.id]["outcome"]
                assert outcome != "unknown_commit" or order.id in listed, said
                assert outcome in NOT_COMMITTED | COMMITTED | LISTED, said
                assert outcome != "pending" or rows[order.id]["gate_state"] == "pending", said
            if order.id in rows:
                self.check_plain(order, rows[order.id])

    def check_plain(self, order, row):
        """What is plain and arrived is claimed, so that not all is called unknown."""
        told = [each for each in self.stored.values() if each.get("call_id") == order.id]
        if not row["has_call_span"] or any(each.get("error_type") == PROCESS_DIED for each in told):
            return
        expected = plain_outcomes(order)
        assert expected is None or row["outcome"] in expected, f"{row['outcome']} for {order}"

    def check_orders(self):
        """The same spans in another order and other groups, some of them twice, come to the same calls."""
        assert self.rebuilt(self.stored) == self.rows()
        if self.twins:  # what was told by two processes: had the other word come first, it would be no less true
            self.check_claims(self.rebuilt(self.stored | self.twins))

    def rebuilt(self, stored):
        """The calls of a second file, into which these spans came in another order."""
        rows = list(stored.values())
        self.world.random.shuffle(rows)
        parts = self.world.random.randint(1, 3)
        other = self.open_store(f"{id(rows)}.duckdb")
        for part in range(parts):
            other.write_group([rows[part::parts], self.world.random.sample(rows[part::parts], len(rows[part::parts]) // 3)])
        other.derive_open()
        found = calls_in(other)
        other.close()
        return found

    def settle(self):
        """After a true answer about each call in doubt, every claim is the world's truth."""
        self.world.tick(3 * DAY_NS)
        for how in ("query", "refused for good"):
            for row in self.rows().values():
                order = self.order_of(row)
                if order.writes and row["outcome"] in {"unknown_commit", "indeterminate"}:
                    self.world.find_out(order, row, how)
                    self.world.tick()
            self.deliver_all()
            self.no_claim_is_untrue()
        for row in self.rows().values():
            order = self.order_of(row)
            claimed = COMMITTED if order.committed(self.world.now) else NOT_COMMITTED
            if order.writes and row["outcome"] != "pending":
                assert row["outcome"] in claimed, f"{row['outcome']}, settled {row['settled']}, for {order}"


def plain_outcomes(order):
    """The outcomes that may be claimed of a story in which nothing is in doubt; None where there is doubt."""
    if not order.tries and order.stopped and not order.held:
        return {"rejected", "skipped", "cancelled"}
    if len(order.tries) != 1 or order.told is None or not order.writes or any("found" in line for line in order.story):
        return None
    if "output_validation deny" in order.story:
        return None
    return {
        ("done", "true"): {"succeeded"},
        ("partly done", "true"): {"partial"},
        ("refused", "true"): {"failed"},
        ("refused", "business"): {"business_rejected"},
        ("refused in words", "true"): {"failed"},
        ("never sent", "true"): {"failed"},
    }.get((order.heard, order.told))


def run(**how):
    """Play the machine."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(LedgerWorld, settings=settings(deadline=None, database=None, suppress_health_check=checks, **how))


def test_no_claim_about_a_write_is_untrue():
    """Whatever happens to agent, wire and collector: what is claimed is so, and what is not known is listed."""
    run(max_examples=40, stateful_step_count=20, derandomize=True)


@pytest.mark.long
def test_no_claim_about_a_write_is_untrue_in_many_worlds():
    """The same in many more and longer histories, new ones each time."""
    run(max_examples=1500, stateful_step_count=40)
