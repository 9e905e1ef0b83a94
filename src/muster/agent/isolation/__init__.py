"""Keeps tasks apart from the agent and from each other: the account that a task runs under, and what it can see.

Belongs here: accounts, namespaces, and starting a process in them. Does not belong here: deciding whose tasks are
isolated and how, which is the server's decision.
"""
