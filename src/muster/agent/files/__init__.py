"""Files on the node that the server reads and writes: paths confined to a root, transfers in pieces, trees, archives.

Belongs here: everything that touches a path that a person chose, and the protocol of transfers. Does not belong here:
the folder of a task, which is in `agent.tasks`, and rights, which the server checks.
"""
