"""The driver's side of tasks that serve all message stations of a run at once.

Each task is a Spark job of its own, so the driver learns at once when it ends and can replace it, on Spark Connect too.
In a run without an end, one task stays and waits for messages. More are started when it does not keep up, and end when
they have nothing to do, so that an idle run needs one slot, and other kinds of stations find room.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from duerow.clock import EPOCH
from duerow.errors import DuerowError
from duerow.spark.jobs import TURN, Job, MessageJob, SparkRun, collect
from duerow.spark.task import serving_task
from duerow.spark.task_service import FOR_EVER, RECALLS, Terms
from duerow.sync.own_messages import OwnMessages

LIFE: Final = 60.0
"""Seconds after which the task that stays ends, so that it does not keep an executor, or its memory, for ever."""

QUIET_LIFE: Final = 300.0
"""The same for a task that succeeds one during whose life nothing happened: each start takes most of a second of
processor time, far more than waiting does."""

OVERLAP: Final = 2.0
"""Seconds before its end at which its successor is started."""

LINGER: Final = 2.0
"""Seconds for which the further tasks of a run without an end wait for more to do."""

PATIENCE: Final = 2.0
"""Seconds for which something must be due at other kinds of stations before the task that stays gives up its slot."""

BEHIND: Final = 0.5
"""Seconds for which something must be due, although tasks are running, before more of them are started."""

FEW: Final = 2
"""How many tasks are started at once; as many again as are running, if these do not keep up either."""

LOOK: Final = 0.2
"""Seconds between a push, or a look that finds something due, and the look that finds out whether it is still there."""

LOG: Final = logging.getLogger("duerow.spark")


@dataclass(eq=False)
class ServingTask:
    """A running task.

    Attributes:
        recall: the key of the message that recalls it.
        stays_until: until when it counts as the one that stays; None: it is not the one.
        over: whether it has ended.
    """

    recall: str
    stays_until: float | None
    over: bool = False

    @property
    def stays(self) -> bool:
        """Whether this is the task that stays, and has no successor yet."""
        return self.stays_until is not None and monotonic() < self.stays_until


class Service:
    """Starts the tasks. All methods are called from the driver's main thread, except what `begin` returns.

    Args:
        run: what the stations share.
        jobs: all stations of the run.
        lasts: whether the run has no end, so that one task should stay.
    """

    def __init__(self, run: SparkRun, jobs: Sequence[Job], lasts: bool) -> None:
        self._run, self._lasts = run, lasts
        self._jobs = [job for job in jobs if isinstance(job, MessageJob)]
        self._others = [job for job in jobs if not isinstance(job, MessageJob) and job.needs_slots]
        self._tasks: dict[int, ServingTask] = {}
        self._recalls = OwnMessages(run.database, RECALLS)
        self._numbers = itertools.count()
        self._recall = self._next_recall()
        self._recalled: set[str] = set()
        self._due_since: float | None = None
        self._quiet = False

    def serves(self, job: Job) -> bool:
        """Whether a station is served by these tasks now, and has no rounds of its own."""
        return job in self._jobs and not job.is_counted

    def has_room(self, job: Job) -> bool:
        """Whether another task may begin that serves this station."""
        self._forget_ended()
        return any(number not in self._tasks for number in range(job.tasks))  # type: ignore[attr-defined]

    @property
    def only_waits(self) -> bool:
        """Whether nothing runs except the task that stays, and nothing is left undone by it."""
        return self._due_since is None and all(task.stays for task in self._tasks.values())

    @property
    def takes_pushes_in(self) -> float:
        """The seconds after which a push has usually been handled without the driver."""
        return LOOK if any(task.stays for task in self._tasks.values()) and not self._others else 0.0

    @property
    def looks_in(self) -> float | None:
        """The seconds until it should be asked again even if nothing happens; None: it can wait."""
        if self._due_since is not None and self._tasks:
            return LOOK
        staying = [one.stays_until for one in self._tasks.values() if one.stays]
        return staying[0] - monotonic() if staying and staying[0] is not None else None

    def heard(self) -> None:
        """Record that something was pushed, so that the counts of the next task that stays will be of interest."""
        self._quiet = False

    def begin(self, due: Collection[Job], may_wait: bool) -> Iterator[Callable[[], None]]:
        """Yield the work of each task that should begin now, for a thread of its own.

        Args:
            due: the stations with something due that have room.
            may_wait: whether no other kind of station needs the slot of a task that would only wait.
        """
        self._forget_ended()
        if not due:
            self._due_since = None
        else:
            self._due_since = self._due_since or monotonic()
            self.heard()
        stay = self._lasts and (bool(due) or may_wait) and not any(task.stays for task in self._tasks.values())
        behind = self._due_since is not None and monotonic() - self._due_since >= BEHIND
        more = behind or (bool(due) and not self._lasts and not self._tasks)
        room = max(FEW, len(self._tasks)) if more else 0
        for number in range(self._run.parallelism):
            served = [job for job in self._jobs if self.serves(job) and number < job.tasks]
            if number in self._tasks or not served:
                continue
            if stay:
                stay = False
                yield self._begin(number, served, stays=True)
            elif room and any(job in due for job in served):
                room -= 1
                yield self._begin(number, served, stays=False)

    def recall(self) -> None:
        """Let the running tasks end as soon as they have settled what they hold."""
        if not self._running or self._recall in self._recalled:
            return
        try:
            self._recalls.push([self._recalls.entry(self._recall, None, EPOCH)], "ignore")
        except DuerowError as error:
            LOG.warning("%s: cannot recall its tasks, which end later by themselves: %s", self._run.pipeline, error)
        self.heard()  # those that follow have seen no quiet minute
        self._recalled.add(self._recall)
        self._recall = self._next_recall()
        for task in self._running:
            task.stays_until = None

    def close(self) -> None:
        """Remove what recalled tasks, after they have ended."""
        self._forget_ended()

    def _begin(self, number: int, served: Sequence[MessageJob], stays: bool) -> Callable[[], None]:
        needed = [*self._others, *(job for job in self._jobs if job.is_counted)]  # by others, which need slots
        life = TURN
        if stays and (self._run.places > 1 or not needed):
            life = QUIET_LIFE if self._quiet else LIFE
            self._quiet = True
        task = ServingTask(self._recall, monotonic() + max(life - OVERLAP, life / 2) if stays else None)
        terms = Terms(
            recall=task.recall,
            seconds=life,
            idle=FOR_EVER if stays else LINGER if self._lasts else 0.0,
            # Stations with a rate may have to wait although something is due, so tasks do not end for them.
            others=[job.station.name for job in self._others if not job.is_counted],
            patience=PATIENCE if stays and self._run.places > 1 else 0.0,
            only=dict(self._run.only),
        )
        self._tasks[number] = task

        def work() -> None:
            try:
                for job in served:
                    job.look_for_unknown()
                assignments = [job.assignment for job in served]
                name = assignments[0].name if len(assignments) == 1 else self._run.pipeline.name
                collect(self._run, served, serving_task(name, assignments, terms), 1)
            finally:
                task.over = True

        return work

    @property
    def _running(self) -> list[ServingTask]:
        return [task for task in self._tasks.values() if not task.over]

    def _forget_ended(self) -> None:
        self._tasks = {number: task for number, task in self._tasks.items() if not task.over}
        for recall in self._recalled - {task.recall for task in self._tasks.values()}:
            try:
                self._recalls.remove(recall)
            except DuerowError as error:
                LOG.warning("%s: cannot remove the message that recalled its tasks: %s", self._run.pipeline, error)
            self._recalled.remove(recall)

    def _next_recall(self) -> str:
        return f"{self._run.access.run}/{next(self._numbers)}"
