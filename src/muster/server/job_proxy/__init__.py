"""Pages that jobs serve, in the browsers of those who may look at them: each job and port has an origin of its own.

Belongs here: names of hosts, entering, what is passed on in both directions. Does not belong here: who may look at a
job, and how a port of a task is reached. See docs/adr/0018-job-proxy.md.
"""
