"""Questions about many machines: real SSH hosts on this one, or hundreds of simulated ones, against one real server.

Belongs here: what only a pool can be asked. Does not belong here: how hosts are made; those of the tests are used.
"""
