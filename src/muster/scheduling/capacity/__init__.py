"""What nodes can hold: free resources, an index over them, and the placement of a whole gang.

Belongs here: questions about resources and places. Does not belong here: who is next, and whose resources they are.
"""
