"""All operations on all queues at once, under faults, and a verdict from a separate ledger: `duerow torture`.

    report = torture("postgresql://app@localhost/shop", Options(kills=1_000))
    print(report)

The parts, in the order in which a run uses them:

options         how long a run is, and which faults it has
environment     the database, its queues and how a process opens them
access          how a run reaches the database without duerow: `sql`, `mongodb`
tables          creates the tables of a run, and reads them when it ends
ledger          the table in which every process records what it is about to do and what it has done
producer        pushes in every way
handler         decides how the turns of messages that workers hand out end
hoard           takes all of the server's free connections for a moment
clocks, disks   wrong clocks of processes, and full disks
claims          records when the claims of a process began
consumer        takes messages, with workers of every kind, by hand (`direct_consumer`), and at most once (`pops`)
operation       what an operator does: requeue, reprioritise, edit, remove, redrive, replay
worker_process  a process of a run: started, stopped, continued, killed
other_version   runs in another interpreter, whose version of duerow takes part
sides           where processes work: in this interpreter or in the other one
upgrade         several processes migrate an earlier version's tables at once, in the middle of a run
faults          what happens to processes, connections and the server
run             starts the processes, causes the faults, and has the rest finish
evidence        the values that a verdict reads, and those that it finds
verdict         whether everything that was pushed ended once, in order
report          the result of a run, as text and as JSON
"""

from duerow.testing.torture.options import Options
from duerow.testing.torture.report import Report
from duerow.testing.torture.run import Run, torture

__all__ = ["Options", "Report", "Run", "torture"]
