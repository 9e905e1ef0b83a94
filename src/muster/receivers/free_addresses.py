"""Whether this machine can listen on the addresses of receivers."""

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from muster.receivers.addresses import Address


def unusable(addresses: Sequence[Address]) -> Iterator[tuple[Address, str, str]]:
    """Yields each address that cannot be used, why, and what to do. All are held at once, so that two of them which
    exclude each other are found."""
    with ExitStack() as stack:
        for address in addresses:
            try:
                stack.enter_context(_listening(address))
            except socket.gaierror:
                yield address, f"the name {address.host} is not known", "name this machine, or one of its addresses"
            except OSError as error:
                yield address, *_words(address, error)


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(1)
    except BaseException:
        listener.close()
        raise
    return listener


def _words(address: Address, error: OSError) -> tuple[str, str]:
    if error.errno == errno.EADDRINUSE:
        return f"port {address.port} is in use", f"`ss -ltnp 'sport = :{address.port}'` shows by whom; or take another"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{address.host} is not an address of this machine", "deploy it on the machine that has it"
    if error.errno == errno.EACCES:
        return f"port {address.port} is for the administrator of the machine", "take a port above 1023"
    return f"cannot listen there: {error.strerror}", ""
