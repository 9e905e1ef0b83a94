"""Makes key pairs for SSH. It is loaded with the first one, because most servers need none."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def new_private_key() -> bytes:
    """A new Ed25519 key in the form that OpenSSH reads."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
