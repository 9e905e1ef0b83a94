"""What virtual clusters are guaranteed: cells of nodes, and who runs in them.

Belongs here: keeping guarantees as places on nodes. Does not belong here: the order in which jobs are started.
"""
