"""Certificates that are known by their fingerprint, whoever signed them."""

import ssl


def fingerprint_of(der: bytes) -> str:
    import hashlib  # a short command that knows its server by no fingerprint does without it

    return f"SHA256:{hashlib.sha256(der).hexdigest()}"


def unverified_context() -> ssl.SSLContext:
    """The context of connections whose certificate is compared by its fingerprint afterwards."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
