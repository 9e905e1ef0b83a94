"""A real Kubernetes on one machine for tests and benchmarks: built from source, started, hurt and removed.

Nothing of the product imports it, and it knows nothing of Muster.
"""
