"""How the two ends of a connection prove to each other that they know the token of a gang, and seal what they say then.

The login node's relay is away while its agent is, and anybody there may take its port meanwhile; anybody may listen on
the network between nodes. So nobody says the token, and nothing of an answer is used before it has proven itself:

    client -> server   {"what": "seal", "key": KEY, "nonce": C}      KEY says which gang it is
    server -> client   {"nonce": S, "proof": HMAC(token, "server")}
    client -> server   {"proof": HMAC(token, "client")}

C and S are 16 random bytes in hexadecimal digits, new for each connection. HMAC is by SHA-256 over the JSON list of a
purpose, KEY, C and S. With the purposes "client seals", "client hides", "server seals" and "server hides" it makes the
keys of both directions. From then on every message is one sealed frame:

    4 bytes            the length n of the hidden message, big-endian
    n bytes            the message as `frames.encode` writes it, XOR SHAKE-256(key that hides, number of the frame)
    32 bytes           HMAC(key that seals, number of the frame and the hidden message)

Numbers are 8 bytes, big-endian, and count the frames of a direction from 0, so that no frame can be changed, left out,
said again or moved. Whoever knows the token can read what was recorded: it is in the batch script, which Slurm shows to
the owner of the job and to administrators, and may keep in its database.

Only the standard library is used: the bootstrap does the same in a few lines on a node where nothing is installed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import struct
from typing import List, Mapping, Tuple

from muster.agent.system.frames import MAX_FRAME_BYTES, FrameDecoder, FrameError, Message, encode

SEAL = "seal"
CLIENT, SERVER = "client", "server"
_NONCE_BYTES = 16
_TAG_BYTES = 32
_LENGTH, _NUMBER = struct.Struct(">I"), struct.Struct(">Q")
_MOST_BYTES = MAX_FRAME_BYTES + 2 * _LENGTH.size


class Exchange:
    """What both ends know after their nonces were told. Raises FrameError if one of them cannot be a nonce."""

    def __init__(self, token: str, key: str, client_nonce: object, server_nonce: object) -> None:
        self._token = token.encode("utf-8", "surrogatepass")
        self._said = [key, _checked(client_nonce), _checked(server_nonce)]

    def proof(self, side: str) -> str:
        return self._made(side).hex()

    def is_proof(self, side: str, found: object) -> bool:
        return isinstance(found, str) and found.isascii() and hmac.compare_digest(found, self.proof(side))

    def sealing(self, side: str) -> "Sealing":
        """What this side says with, and hears the other side with."""
        other = SERVER if side == CLIENT else CLIENT
        return Sealing(self._keys(side), self._keys(other))

    def _keys(self, side: str) -> Tuple[bytes, bytes]:
        return self._made(side + " seals"), self._made(side + " hides")

    def _made(self, purpose: str) -> bytes:
        text = json.dumps([purpose, *self._said])
        return hmac.new(self._token, text.encode("ascii"), "sha256").digest()


class Sealing:
    """Writes and reads sealed frames. Each side has a key that seals and a key that hides."""

    def __init__(self, own: Tuple[bytes, bytes], other: Tuple[bytes, bytes]) -> None:
        self._own, self._other = own, other
        self._said = self._heard = 0
        self._buffer = bytearray()

    def encode(self, message: Mapping[str, object]) -> bytes:
        number, self._said = _NUMBER.pack(self._said), self._said + 1
        hidden = _hidden(encode(message), self._own[1], number)
        return b"".join((_LENGTH.pack(len(hidden)), hidden, _tag(hidden, self._own[0], number)))

    def feed(self, data: bytes) -> List[Message]:
        """Raises FrameError if somebody else has said it."""
        self._buffer += data
        found: List[Message] = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > _MOST_BYTES:
                raise FrameError("a sealed frame announces {} bytes; at most {} fit".format(length, _MOST_BYTES))
            end = _LENGTH.size + length
            if len(self._buffer) < end + _TAG_BYTES:
                break
            hidden, tag = bytes(self._buffer[_LENGTH.size : end]), bytes(self._buffer[end : end + _TAG_BYTES])
            found.append(self._opened(hidden, tag))
            del self._buffer[: end + _TAG_BYTES]
        return found

    def _opened(self, hidden: bytes, tag: bytes) -> Message:
        number, self._heard = _NUMBER.pack(self._heard), self._heard + 1
        if not hmac.compare_digest(_tag(hidden, self._other[0], number), tag):
            raise FrameError("a frame was changed on its way, or somebody else has sent it")
        messages = FrameDecoder().feed(_hidden(hidden, self._other[1], number))
        if len(messages) != 1:
            raise FrameError("a sealed frame does not hold one message")
        return messages[0]


def nonce() -> str:
    return os.urandom(_NONCE_BYTES).hex()


def _checked(found: object) -> str:
    if not isinstance(found, str) or len(found) != 2 * _NONCE_BYTES or not set(found) <= set("0123456789abcdef"):
        raise FrameError("what should be a nonce is none")
    return found


def _hidden(data: bytes, key: bytes, number: bytes) -> bytes:
    stream = hashlib.shake_256(key + number).digest(len(data))
    mixed = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return mixed.to_bytes(len(data), "little")


def _tag(hidden: bytes, key: bytes, number: bytes) -> bytes:
    return hmac.new(key, number + hidden, "sha256").digest()
