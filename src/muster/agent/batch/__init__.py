"""Jobs of a batch system such as Slurm: what the agent does on a login node, and what runs inside an allocation.

Belongs here: submitting a gang once, asking the batch system, following the marks and logs that tasks leave in the
spool folder; the coordinator and the runners of a gang, which the batch system starts on its own nodes.
Does not belong here: what the answers of the batch system mean. The server reads them.
"""
