"""Alerts that rules find, what is done about them, and notices to people.

Belongs here: gathering the figures that rules are compared with, keeping alerts over restarts, doing what a rule says,
queueing and sending notices. Does not belong here: when a rule holds (`domain`), how a notice travels (`notifiers`),
and what a page shows at this moment (`engine/alerts`).
"""
