"""The life of a task on this node: launch, supervise, stop, record the exit, keep its log and its outputs.

Belongs here: everything that is keyed by a task id. Does not belong here: facts and metrics of the whole machine, which
are in `agent.node`.
"""
