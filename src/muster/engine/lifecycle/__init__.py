"""The life of an accepted job: it is scheduled, launched, observed, preempted, completed, reconciled after a crash.

Belongs here: every move of a job or task after its submission. Does not belong here: what a person asked for, which is
in `engine.requests`, and bytes that people read, which are in `engine.data`.
"""
