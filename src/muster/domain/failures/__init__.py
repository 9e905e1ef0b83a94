"""What a failure was: its fault, found from exit codes, signals, errors and log lines by tables."""
