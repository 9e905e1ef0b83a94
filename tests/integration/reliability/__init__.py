"""Real processes, really killed: nothing is lost, nothing happens twice, nothing is left behind."""
