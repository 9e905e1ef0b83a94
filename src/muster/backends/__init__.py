"""Backends: they start, stop and observe tasks, each on one kind of cluster.

Belongs here: one package for each backend, independent of the others, and `agents`, which backends with agents share.
Does not belong here: deciding what runs where. A new backend is a package here and one line in `bootstrap`.
"""
