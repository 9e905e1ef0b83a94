"""The agent as a real process, run by each Python that nodes may have."""
