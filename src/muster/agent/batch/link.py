"""Connections of a gang, between its runners, its coordinator and the login node: frames over TCP, sealed by a token
that both ends know."""

from __future__ import annotations

import hmac
import os
import socket
from typing import List, Optional, Tuple

from muster.agent.batch.sealing import CLIENT, SEAL, SERVER, Exchange, Sealing, nonce
from muster.agent.system.frames import FrameDecoder, FrameError, Message, encode

ADDRESSES = "MUSTER_BATCH_ADDRESSES"
TOKEN = "MUSTER_BATCH_TOKEN"
OWN_VARIABLES = (ADDRESSES, TOKEN)
RUNNER = "runner"
"""What a runner names itself with. It knows no other coordinator."""
_CONNECT_WITHIN_S = 10.0
_PROVE_WITHIN_S = 60.0
"""A coordinator may be waiting for the login node."""
_READ_BYTES = 1 << 16


class _Plain(FrameDecoder):
    """Frames that are not sealed: the first ones of a connection, and those of gangs of earlier releases."""

    def encode(self, message: Message) -> bytes:
        return encode(message)


class Link:
    """`received` has been read from the connection already."""

    def __init__(self, connection: socket.socket, received: bytes = b"", sealing: Optional[Sealing] = None) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.connection = connection
        self._frames = sealing or _Plain()
        self._received = received
        self.is_open = True

    def fileno(self) -> int:
        return self.connection.fileno()

    @property
    def own_address(self) -> str:
        return str(self.connection.getsockname()[0])

    @property
    def peer_address(self) -> str:
        return str(self.connection.getpeername()[0])

    def send(self, message: Message) -> None:
        try:
            self.connection.sendall(self._frames.encode(message))
        except OSError:
            self.close()

    def receive(self) -> List[Message]:
        """What has come. The link is closed afterwards if the other end is gone or sends nonsense."""
        try:
            data, self._received = self._received or self.connection.recv(_READ_BYTES), b""
            if data:
                return self._frames.feed(data)
        except (OSError, FrameError):
            pass
        self.close()
        return []

    def receive_one(self) -> Optional[Message]:
        while self.is_open:
            found = self.receive()
            if found:
                return found[0]
        return None

    def hang_up(self) -> None:
        """Have the thread that waits for messages close it."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it is closed

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.connection.close()


def listening(port: int = 0) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("", port))
    server.listen(1024)
    return server


def own_addresses() -> List[str]:
    """The names by which other nodes may reach this one, the likeliest first."""
    found = [os.environ.get("SLURMD_NODENAME") or "", socket.gethostname()]
    return [name for name in dict.fromkeys(found) if name]


def connected() -> Link:
    """A link to the coordinator, from what the environment says. Raises OSError."""
    launcher = os.environ.get("SLURM_LAUNCH_NODE_IPADDR")
    addresses = ",".join(([launcher] if launcher else []) + [os.environ[ADDRESSES]])
    return connected_to(addresses, os.environ[TOKEN], RUNNER)


def connected_to(addresses: str, token: str, key: str) -> Link:
    """A link to whoever proves first at these names that it knows the token. The last of them is the port. Raises
    OSError."""
    *names, port = addresses.split(",")
    problem: Optional[OSError] = None
    for name in names:
        try:
            connection = socket.create_connection((name, int(port)), _CONNECT_WITHIN_S)
        except OSError as error:
            problem = error
            continue
        link = _sealed(connection, token, key)
        if link is not None:
            return link
        connection.close()
        problem = ConnectionError("whoever answers at {}, port {}, does not know this job".format(name, port))
    raise problem or OSError("the coordinator has no address")


def _sealed(connection: socket.socket, token: str, key: str) -> Optional[Link]:
    """Returns None if the other end does not prove that it knows the token."""
    connection.settimeout(_PROVE_WITHIN_S)
    own, link = nonce(), Link(connection)
    link.send({"what": SEAL, "key": key, "nonce": own})
    answer = link.receive_one() or {}
    try:
        exchange = Exchange(token, key, own, answer.get("nonce"))
    except FrameError:
        return None
    if not exchange.is_proof(SERVER, answer.get("proof")):
        return None
    link.send({"proof": exchange.proof(CLIENT)})
    connection.settimeout(None)
    return Link(connection, sealing=exchange.sealing(CLIENT)) if link.is_open else None


def is_token(found: object, token: str) -> bool:
    return isinstance(found, str) and hmac.compare_digest(found.encode("utf-8", "surrogatepass"), token.encode("utf-8"))


def resolvable(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True


def host_of(claims: Tuple[str, ...]) -> str:
    """The first of these names that can be resolved; the last if none can."""
    return next((name for name in claims if name and resolvable(name)), claims[-1])
