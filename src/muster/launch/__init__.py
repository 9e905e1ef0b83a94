"""From placed tasks to exactly what is started: command, environment and files of every task of a gang.

Belongs here: pure composing, one small module per framework. Does not belong here: IO, clocks, the server's own
environment, anything a single backend needs (it turns a `Composed` into its own script or manifest).
"""
