"""Who has what: the allocations of jobs, what users and virtual clusters use, their limits, and reservations.

Belongs here: the books of what is in use or kept free. Does not belong here: decisions to start or to preempt.
"""
