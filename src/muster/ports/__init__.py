"""The seams, as Protocols: what the engine needs from a store and from a backend.

Belongs here: Protocols with their contracts (idempotency, errors, who calls) and the values they pass. Does not
belong here: any implementation.
"""
