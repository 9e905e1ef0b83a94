"""Attacks of tasks on what belongs to the server, the node and other tasks."""
