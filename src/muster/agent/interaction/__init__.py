"""The standard input and the terminal of tasks that people attach to.

Belongs here: the small process that holds them for as long as the task runs, and how it is asked for them. Does not
belong here: what a task is, and who may attach to one.
"""
