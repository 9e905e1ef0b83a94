"""Clusters and their nodes: the backends, the liveness of nodes, and the commands of admins.

Belongs here: everything that is keyed by a cluster or a node. Does not belong here: what a lost node means for a job,
which is in `engine.lifecycle`.
"""
