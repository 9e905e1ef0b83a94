"""Gang scheduling: what the pods of a job need so that all of them start or none does.

The functions here are pure, and the guard, which remembers what it decided, does no IO and reads no clock. They answer
with a `Verdict`, which the core obeys. `muster.operator.control.gang_scheduling` watches what they need to know.
"""
