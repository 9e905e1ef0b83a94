"""What every backend promises, written against `muster.ports.backend` and `muster.ports.capabilities`.

The suite knows no backend. It runs over each `Harness` of `conftest.HARNESSES`: the fake in memory, the toy engine, the
local backend and the SSH backend. A new backend, for Slurm or Kubernetes say, gets in by passing it: write one harness
(see `harness.py`), add it to that table, and every test runs over it too. Tests of a capability that the backend does
not offer are skipped, and say so.
"""
