"""All operations of all queues at once, under faults, and a verdict from a separate ledger: `duerow torture`.

    report = torture("postgresql://app@localhost/shop", Options(kills=1_000))
    print(report)

The parts, in the order in which a run uses them:

options         how long a run is, and which faults it meets
environment     the database, its queues and how a process opens them
access          how a run reaches the database beside duerow: `sql`, `mongodb`
tables          makes the tables of a run, and reads them at its end
ledger          the table in which every process writes what it is about to do and what it did
producer        pushes in every way
handler         how the turn of a message ends that a worker hands out
hoard           all connections that the server has left, held for a moment
clocks, disks   clocks of processes that are wrong, and disks that are full
claims          when the claims of a process began
consumer        takes messages, by workers of every kind, by hand (`direct_consumer`), and at most once (`pops`)
pipelines       a pipeline that records go through
rows            rows of the application's `own_table`, which are a queue as well
operation       what an operator does: requeue, reprioritise, edit, remove, redrive, replay
workload        the names of all of this, so that a run can be told to do only some of it
worker_process  one process of a run: started, stopped, continued, killed
other_version   what another interpreter does, whose version of duerow takes part
sides           where processes work: in this interpreter, and in that one
upgrade         tables of an earlier version, which several processes migrate at once while a run goes on
faults          what happens to processes, connections and the server
run             starts the processes, lets the faults happen, and lets the rest finish
evidence        what a verdict reads, and what it finds
verdict         whether everything that was pushed ended once, in order; of pipelines and rows, `records`
report          what a run found, as text and as JSON
shrink          a smaller run that breaks the same promise, as a script
"""

from duerow.testing.torture.options import Options
from duerow.testing.torture.report import Report
from duerow.testing.torture.run import Run, torture

__all__ = ["Options", "Report", "Run", "torture"]
