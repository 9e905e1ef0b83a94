"""Configuration: what a server may be told, by file, environment and command line.

Belongs here: names, types, defaults and where they are read from. Does not belong here: acting on them.
"""
