"""The ways to a login node: agents there, one per user, and the folders that they keep."""
