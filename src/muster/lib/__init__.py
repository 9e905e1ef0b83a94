"""Small tools that know nothing about jobs: quantities, ids, clocks, back-off, close matches.

Code that any program could use belongs here. Code that knows what a job or a node is does not.
"""
