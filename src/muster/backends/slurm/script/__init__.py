"""What of a gang becomes a batch script, and which options of sbatch it may have."""
