"""Assembles the server from its concrete parts and runs it: `python -m muster.bootstrap`.

The choice of the adapter for each port and the steps of startup and shutdown belong here. Anything that a part can
decide itself does not. No other package imports adapters.
"""
