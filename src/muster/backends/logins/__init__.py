"""Logins over SSH: how a machine is reached, and how the agent gets there.

Belongs here: what every backend needs that reaches machines over SSH, the part of its cluster files included.
Does not belong here: which machines those are, and what the agent does there.
"""
