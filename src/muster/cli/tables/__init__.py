"""How the command line shows lists: tables, their columns, colours, ages and small charts.

Belongs here: drawing of what the server answered. Does not belong here: calls to the server.
"""
