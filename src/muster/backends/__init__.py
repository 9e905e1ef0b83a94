"""Drivers: how tasks are started, stopped and observed on one kind of cluster.

Belongs here: one package a backend, independent of the others, and what agent-based ones share (`links`, `agents`,
`pool`). Does not belong here: deciding what runs where. A new backend is a package here and one line in `bootstrap`.
"""
