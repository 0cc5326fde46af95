"""What a queue decides, without a database: edits, redrives, statistics, schedules, history."""
