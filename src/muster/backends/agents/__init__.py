"""What backends share whose nodes run Muster's agent: the connection, launching, transfers, logs, metrics.

Belongs here: everything that speaks to an agent. Does not belong here: how an agent is reached, which is what `local`
and `ssh` differ in, and engines that place tasks themselves.
"""
