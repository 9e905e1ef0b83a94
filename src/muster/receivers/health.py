"""Whether a receiver answers."""

import http.client

from muster.lib.fingerprints import unverified_context
from muster.receivers.addresses import Address

_WITHIN_S = 2.0
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def answers(address: Address) -> bool:
    """Certificates are not checked: it is asked whether somebody is there, and nothing is told."""
    return _asked(address, is_secure=False) or _asked(address, is_secure=True)


def _asked(address: Address, *, is_secure: bool) -> bool:
    host = _ANY.get(address.host, address.host)
    connection: http.client.HTTPConnection
    if is_secure:
        connection = http.client.HTTPSConnection(host, address.port, timeout=_WITHIN_S, context=unverified_context())
    else:
        connection = http.client.HTTPConnection(host, address.port, timeout=_WITHIN_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
