"""The name by which servers know each other's installations."""

import hashlib


def installation_of(identity: str) -> str:
    """The same for all servers on one database, and for no others. Nodes know the identity itself, which is nobody
    else's business."""
    return hashlib.sha256(f"installation {identity}".encode()).hexdigest()[:16]
