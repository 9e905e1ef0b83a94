"""`muster cluster-train` and `muster cluster-kill`: the words of Paddle's old client, against any Muster server.

What the words of that client are belongs here, and how its configuration is read without running it. The request is a
job file of the dialect `cluster-train`, which the server reads.
"""
