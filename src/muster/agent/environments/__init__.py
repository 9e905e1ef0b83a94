"""The environments that this node offers to tasks: conda and virtual environments, container engines, shared folders.

Belongs here: finding and trying them. Does not belong here: running a task in one, which is in `agent.tasks`.
"""
