"""What the answers of Slurm's commands mean: tables and JSON of jobs and nodes, states, reasons, exit codes."""
