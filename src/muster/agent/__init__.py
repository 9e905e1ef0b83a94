"""The node side: one process per node that starts tasks, watches them and tells what it sees.

Belongs here: everything that must run on a node. It uses the standard library only, works from Python 3.8 on, and
imports nothing of Muster but this package and the version, because it travels to nodes as one small archive.
Does not belong here: any decision about which task runs where. The agent does what it is told, exactly once.

Tasks outlive the agent. What is known of a task lies in its folder; the process memory is only a view of it.
"""

OLDEST_PYTHON = (3, 8)
"""The first release that the agent runs with."""
