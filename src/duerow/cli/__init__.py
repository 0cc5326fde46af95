"""The command `duerow`: one file for each noun; each command parses, calls one public function, and prints."""
