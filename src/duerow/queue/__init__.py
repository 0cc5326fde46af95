"""The logic of queues that needs no database: edits, redrives, statistics, schedules, history."""
