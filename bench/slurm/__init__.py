"""What Muster adds to Slurm, and what other clients of Slurm add: time, CPU and load on the controller.

Everything is measured in one run on the same real cluster, by the controller's own log and statistics.
"""
