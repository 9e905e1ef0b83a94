"""Programs that run in the virtualenv of a peer, and submit one job to Slurm for each line that they read."""
