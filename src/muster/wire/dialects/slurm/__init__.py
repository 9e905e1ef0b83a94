"""Batch scripts of Slurm: a script with `#SBATCH` lines becomes a Muster job that runs the script as Slurm would.

Belongs here: the options of sbatch, Slurm's arithmetic of nodes, tasks, memory and GPUs, and what a script finds when
it runs (variables, `srun`, `scontrol`). Does not belong here: the backend that hands jobs to a Slurm cluster.
"""
