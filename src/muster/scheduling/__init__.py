"""Planning, purely: cluster state and now in, Plan with Reasons out.

Belongs here: what is free, who is next, where a gang goes, why it waits. Does not belong here: IO, clocks, the store,
anything about how a task is started. The same code serves the server, what-if answers and simulation.
"""
