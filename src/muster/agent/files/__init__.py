"""Files on the node that the server reads and writes for people: paths confined to a root, transfers, trees, blobs.

Belongs here: whatever touches a path that a person chose. Does not belong here: the folder of a task, which is in
`agent.tasks`, and rights, which the server checks.
"""
