"""Which task runs when: six ISO weeks of working hours, the last of them the week of yesterday."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from script import Task
from tasks import TASKS

WEEKS = 6
QUOTE_CHANGED_IN_WEEK = 3
"""The schema of `quote_shipping` changed in this week, the first being 0: three weeks before the last there is a trend."""
_WORKDAYS, _HOURS, _FIRST_HOUR = 5, 10, 8
_LEFT_OUT_EVERY = 9
"""One run in so many does not come up in a week, another one each week."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a task: `count` is its place among the task's runs of the week, `start` is in UTC."""

    task: Task
    count: int
    start: datetime
    quote_changed: bool

    @property
    def number(self) -> int:
        """Tells the occurrences of a task apart, and so lets the weeks differ; it depends on week and count alone."""
        return self.start.isocalendar().week + self.count

    @property
    def id(self) -> str:
        """The run's id, such as `demo-2026-W48-quote-1`; also the seed of all ids in it."""
        week = self.start.isocalendar()
        return f"demo-{week.year}-W{week.week:02}-{self.task.name}-{self.count}"


def _minute(task: Task, count: int) -> int:
    return hashlib.sha256(f"{task.name}/{count}".encode()).digest()[0] % 50


def _week(monday: date, *, quote_changed: bool) -> list[Case]:
    wanted = [(task, count) for task in TASKS for count in range(1, task.times + 1)]
    cases = []
    for position, (task, count) in enumerate(wanted):
        if (position + monday.isocalendar().week) % _LEFT_OUT_EVERY == 0:
            continue
        day = monday + timedelta(days=position % _WORKDAYS)
        hour = _FIRST_HOUR + position // _WORKDAYS * 2 % _HOURS
        start = datetime.combine(day, time(hour, _minute(task, count)), UTC)
        cases.append(Case(task, count, start, quote_changed))
    return cases


def cases(today: date) -> list[Case]:
    """All runs that ended before `today`, in the order of their start."""
    yesterday = today - timedelta(days=1)
    last = yesterday - timedelta(days=yesterday.weekday())
    weeks = [last - timedelta(weeks=ago) for ago in reversed(range(WEEKS))]
    found = [case for n, monday in enumerate(weeks) for case in _week(monday, quote_changed=n >= QUOTE_CHANGED_IN_WEEK)]
    return sorted((case for case in found if case.start.date() < today), key=lambda case: case.start)
