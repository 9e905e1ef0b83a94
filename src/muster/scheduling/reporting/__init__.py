"""What the scheduler says about itself: why jobs wait, when they may start, who uses how much.

Belongs here: answers for people. Does not belong here: anything that changes a decision.
"""
