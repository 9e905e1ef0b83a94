"""Who is next: the queue, its lanes, the policies that rank jobs, and the run times that they expect.

Belongs here: everything about jobs that wait. Does not belong here: whether a job fits.
"""
