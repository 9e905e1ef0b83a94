"""How another library is installed into the Python environment that Muster runs in."""

import shlex
import sys

PYARROW = "pyarrow>=18"
LDAP3 = "ldap3>=2.9.1,<3"


def pip_install(requirement: str) -> str:
    """The command for it. It names the library and not an extra of Muster, which no package index has."""
    return shlex.join([sys.executable, "-m", "pip", "install", requirement])
