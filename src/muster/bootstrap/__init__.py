"""Wires the concrete parts and runs the server: `python -m muster.bootstrap`.

Belongs here: which adapter stands behind which port, and what happens before and around serving. Does not belong here:
anything a part could decide itself. The only importer of adapters.
"""
