"""Stories of writes that were once told wrong, played in the world of `test_ledger_world` and looked at after every step."""

import pytest

from toolwitness.tests.factories import SECOND_NS
from toolwitness.tests.properties.test_ledger_world import LedgerWorld

PAY = ("propose", "pay")
SHIP = ("deliver_all",)
NOT_FOUND = ("ask", -1, "query")
GIVEN_UP = ("submit", -1, [("is lost", "timeout", True)], None)
MINUTE = ("turn", 61 * SECOND_NS)


def gate(kind, verdict):
    """A gate of the latest call answers."""
    return ("check", -1, (kind, verdict, False))


def tried(fate, end, words=None):
    """One attempt of the latest call, which is tried again where there are no words."""
    return ("submit", -1, [(fate, end, True)], words)


def only(*parts):
    """Of what is known, these kinds of spans arrive, an attempt by its ordinal."""
    return ("arrive_only", parts)


UNSENT = tried("is lost", "never sent")
TIMED_OUT = tried("commits", "timeout")
SENT_LATE = (("begin", -1), ("send", -1, "commits later"))
KILLED = ("leave", "crash")
STORIES = {
    "killed before the export": [PAY, *SENT_LATE[:1], ("send", -1, "commits"), ("finish", -1, "answer", True), KILLED],
    "done, and the same call refused then": [PAY, tried("commits", "answer"), tried("refuses", "answer", "true"), SHIP],
    "done, and the same call never sent then": [PAY, tried("commits", "answer"), tried("is lost", "never sent", "true"), SHIP],
    "done behind a gateway that failed": [PAY, tried("commits", "gateway", "error"), SHIP],
    "never sent, and tried again": [PAY, UNSENT, SHIP, ("begin", -1), ("send", -1, "commits")],
    "timed out, then refused, attempts late": [PAY, TIMED_OUT, tried("refuses", "answer", "true"), only("call")],
    "timed out, then refused, the first late": [PAY, TIMED_OUT, tried("refuses", "answer", "true"), only("call", 2)],
    "never sent, then timed out, the second late": [PAY, UNSENT, tried("commits", "timeout", "true"), only("call", 1)],
    "timed out, a loop says ok, the attempt late": [PAY, tried("refuses", "timeout", "ok"), only("call")],
    "approved, refused, killed before the call's end": [
        PAY, gate("confirmation", "needs_approval"), ("answer_approval", -1, "allow", True), tried("refuses", "answer"), SHIP,
        KILLED, ("start",),
    ],
    "not found while only a gate is known": [PAY, gate("policy", "allow"), SHIP, *SENT_LATE, KILLED, NOT_FOUND, SHIP],
    "sent long after it began, killed, not found": [
        PAY, ("begin", -1), MINUTE, ("send", -1, "commits later"), KILLED, ("start",), SHIP, NOT_FOUND, SHIP,
    ],
    "ended well, and nobody told with what": [PAY, tried("commits later", "garbage"), gate("budget", "deny"), SHIP],
    "given up, tried again, killed, not found": [PAY, GIVEN_UP, SHIP, MINUTE, *SENT_LATE, KILLED, NOT_FOUND, SHIP],
}  # fmt: skip


class Stage(LedgerWorld):
    """The world, moved by a story."""

    def arrive_only(self, parts):
        """Some kinds of spans arrive, the others stay under way."""
        self.world.recorder.flush()
        rows = [row for row in self.world.wire.rows if row.get("attempt_ordinal", row["record"]) in parts]
        self.world.wire.rows = [row for row in self.world.wire.rows if row not in rows]
        self.arrive(rows)


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_each_story_is_told_truly(story):
    """At no step, and at no end, is anything untrue claimed, missing, or beyond being settled."""
    stage = Stage()
    stage.begin_the_world(seed=1)
    for name, *given in story:
        getattr(stage, name)(*given)
        stage.no_claim_is_untrue()
    stage.teardown()
