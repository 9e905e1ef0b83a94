"""Whom a job may preempt, and which gangs would have to make way for it.

Belongs here: the choice of victims and its rules. Does not belong here: guarantees, which `scheduling.guarantees`
keeps.
"""
