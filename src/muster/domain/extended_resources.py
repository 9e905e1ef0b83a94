"""Names of extended resources, by which devices other than GPUs are asked for: `xilinx.com/fpga`."""

import re
from collections.abc import Iterable

GPUS = ("nvidia.com/gpu", "amd.com/gpu")
"""The resources that are GPUs. Jobs ask for those by `gpu`."""
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
PATTERN = rf"^{_LABEL}(\.{_LABEL})*/[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?$"
"""The qualified names of Kubernetes, with their domain."""
ACCEPTED = "a domain and a name, such as xilinx.com/fpga"
_LONGEST_DOMAIN = 253
_NATIVE = "kubernetes.io"


def check_name(name: str) -> str:
    """Returns the name, or raises a ValueError that says what is accepted."""
    if re.fullmatch(PATTERN, name) is None:
        raise ValueError(f"expected {ACCEPTED}")
    domain = name.partition("/")[0]
    if name in GPUS:
        raise ValueError("GPUs are asked for by `gpu`: resources.gpu, and resources.gpuType for a model")
    if domain == _NATIVE or domain.endswith(f".{_NATIVE}"):
        raise ValueError(f"resources of {_NATIVE} belong to Kubernetes itself; expected {ACCEPTED}")
    if domain.startswith("requests.") or len(domain) > _LONGEST_DOMAIN:
        raise ValueError(f"Kubernetes does not accept the domain; expected {ACCEPTED}")
    return name


def is_name(text: str) -> bool:
    try:
        check_name(text)
    except ValueError:
        return False
    return True


def offered(names: Iterable[str]) -> str:
    """What a cluster offers, in words that follow its name."""
    known = sorted(set(names))
    return f"offers {', '.join(known)}" if known else "offers no devices other than GPUs"
