"""Runs tasks as pods of a Kubernetes cluster, which places them itself.

Manifests, states and capacities are computed by pure functions over plain objects. `backend` sends and watches them.
"""
