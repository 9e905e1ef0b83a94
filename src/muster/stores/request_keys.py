"""What a request key says about the request that it came with first."""

from muster.domain.errors import Conflict
from muster.ports.store import RequestKey


def check_same_request(key: RequestKey, digest: str | None, made: str) -> None:
    """Raises Conflict if the key was used for another request. `digest` is that of the first one, and `made` what it
    made, such as `job train`."""
    if key.digest and digest and digest != key.digest:
        raise Conflict(
            f"{key.user} has already used request key {key.key} for another request, which made {made}",
            hint="send a new Idempotency-Key with each new request, and the same one only to repeat it",
        )
