"""Commands that a person runs through the agent while reading their output: on the node, or inside a running task.

Belongs here: starting such a command, its input and output, and its end. Does not belong here: who may run one, which
is the server's decision.
"""
