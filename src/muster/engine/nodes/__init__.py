"""Clusters and their nodes: which backends there are, which nodes answer, and what admins do with them.

Belongs here: everything that is keyed by a cluster or a node. Does not belong here: what a lost node means for a job,
which is in `engine.lifecycle`.
"""
