"""A toy engine that places tasks by itself: a queue in a directory, a process that works it off, and its backend.

It stands for Slurm and Kubernetes where the seam is tested: it has its own queue, its own nodes and its own words, it
outlives the server, and it forgets what it is told to forget.
"""
