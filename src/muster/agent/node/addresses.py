"""The address of this machine."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from typing import Mapping, Optional

from muster.agent.errors import BAD_REQUEST, AgentError

_SIOCGIFADDR = 0x8915


def address(interface: Optional[str] = None, environ: Mapping[str, str] = os.environ) -> str:
    """The address at which other nodes reach this one: that of the interface; else the one that the server used for
    SSH; else the one that it would use towards others. Connecting a datagram socket sends nothing."""
    if interface is not None:
        return interface_address(interface)
    reached = environ.get("SSH_CONNECTION", "").split()
    if len(reached) == 4 and not reached[2].startswith("127.") and reached[2] != "::1":
        return reached[2]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def interface_address(interface: str) -> str:
    name = struct.pack("256s", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, name)
        except OSError as error:
            problem = "interface {} has no address here: {}".format(interface, error.strerror)
            raise AgentError(BAD_REQUEST, problem) from error
    return socket.inet_ntoa(answer[20:24])
