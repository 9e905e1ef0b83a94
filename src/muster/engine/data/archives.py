"""The archives that this server keeps, as backends access them: by a path here, or by a signed URL for remote nodes.

A signed URL gives access to one archive until it expires, and the time is part of what is signed. It contains no token
of a user.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from muster.domain.errors import Forbidden, NotFound
from muster.lib.clock import Clock, wall_clock

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SignedArchives:
    """Implements `ports.archives.Archives`. Nodes reach this server at `address`. Only the server knows `key`."""

    folder: Path
    address: str
    key: bytes
    clock: Clock = wall_clock

    def path(self, digest: str) -> Path:
        return self.folder / f"{digest}.tar.gz"

    def url(self, digest: str, lifetime_s: float) -> str:
        expires = int(self.clock() + lifetime_s)
        signature = self._signature(digest, expires)
        return f"{self.address}/api/v1/archives/{digest}?expires={expires}&signature={signature}"

    def opened(self, digest: str, expires: int, signature: str) -> Path:
        """The file behind a signed URL. Raises Forbidden if it was not signed here or has expired."""
        is_signed = _DIGEST.fullmatch(digest) is not None and hmac.compare_digest(
            self._signature(digest, expires).encode(), signature.encode("utf-8", "replace")
        )
        if not is_signed or self.clock() >= expires:
            raise Forbidden("this address is not valid, or not any more", hint="the job's next start makes a new one")
        path = self.path(digest)
        if not path.is_file():
            raise NotFound("this archive has been removed")
        return path

    def _signature(self, digest: str, expires: int) -> str:
        return hmac.new(self.key, f"{digest} {expires}".encode(), hashlib.sha256).hexdigest()
