"""What a server loads before it is asked to: libraries that only some servers need cost every start time."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.fast
RARELY_NEEDED = ("alembic", "asyncssh", "cryptography", "psycopg")


def test_a_server_loads_no_library_that_only_some_servers_need() -> None:
    code = (
        f"import sys, muster.bootstrap.server_process; sys.exit(str([m for m in {RARELY_NEEDED} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
