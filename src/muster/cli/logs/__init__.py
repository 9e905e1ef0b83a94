"""Prints the logs of tasks: what a terminal would show of their output, for terminals, pipes and files.

What the commands decide (which job, which workers) is in `cli/commands`.
"""
