"""The Slurm backend: Muster admits and orders, Slurm places. One attempt of a job is one allocation.

Belongs here: what of a gang becomes a batch script, what the answers of Slurm's commands mean, and the cluster file.
Does not belong here: running those commands and what happens inside an allocation (`muster.agent.batch`).
"""
