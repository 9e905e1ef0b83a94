"""What jobs were given and what came of it: params, metrics, runs, sweeps and models."""
