"""How SSH clusters and their nodes are written in cluster files.

Belongs here: the schema, and how nodes are read from it, from further documents and from lists. Does not belong here:
opening files, and logging in.
"""
