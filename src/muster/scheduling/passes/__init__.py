"""The steps of one scheduling cycle, in the order in which the planner calls them.

Belongs here: decisions to start, preempt, reclaim and grow. Does not belong here: state, which each part keeps itself.
"""
