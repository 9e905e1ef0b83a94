"""The job templates that Muster has, for the command line and for the server.

Belongs here: their files, in `built_in`, and what there is. `built_in` has no Python package: each of its folders is
what `muster init` writes. Does not belong here: templates that users share.
"""
