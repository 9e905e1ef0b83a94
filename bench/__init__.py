"""The performance table: Muster beside real peers, measured in one run on this machine.

Belongs here: how each system is started, driven and stopped, what is measured and which bar it must meet.
Does not belong here: anything the product imports. The modules that drive a peer run in that peer's own
virtualenv, so they and everything they import use the standard library only.
"""
