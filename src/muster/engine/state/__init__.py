"""What the engine keeps in memory: open jobs, cluster settings, and the events on their way to listeners.

Belongs here: state that can be rebuilt from the store and the cluster files. Does not belong here: loops, and decisions
about a job.
"""
