"""All operations of all queues at once, in processes that are killed, and a verdict from a ledger of their own.

setting     the database, its queues and how a process opens them
ledger      the table in which every process writes what it is about to do and what it did
producer    pushes in every way
handler     what becomes of a message that a worker hands out
consumer    takes messages, by workers of every kind, by hand, and at most once
operation   what an operator does: requeue, reprioritise, edit, remove, redrive, replay
verdict     whether everything that was pushed ended once, in order
run         starts the processes, kills them, and lets the rest finish
"""
