"""Tasks: functions that are called later, as messages whose kind is the task's name; rules without I/O."""
