"""The `duerow` command: one file for each noun. A command parses, calls one public function, and prints."""
