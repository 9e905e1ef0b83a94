"""What people ask for: submit, change, stop, explain, accounts. Rights are checked before, at the server's edge.

Belongs here: one function for each request, and the rules that admit or refuse it. Does not belong here: loops.
"""
