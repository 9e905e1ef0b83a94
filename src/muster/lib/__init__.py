"""Small tools without a domain word: quantities, ids, clocks, back-off, nearest names.

Belongs here: what any program could use. Does not belong here: anything that knows what a job is.
"""
