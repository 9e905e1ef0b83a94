"""The machine as a whole: its fixed facts, its metrics, and the commands that admins run on it.

Belongs here: what concerns no single task. Does not belong here: GPUs, which have a package of their own.
"""
