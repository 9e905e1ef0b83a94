"""`python -m muster.bootstrap`, which `muster up` and `muster server` start."""

import gc
import signal
import sys


def _start() -> int:
    """Hundreds of modules are loaded without a garbage collection: they leave no garbage, and looking for it takes a
    tenth of the start. What they consist of is not looked at later either."""
    gc.disable()
    from muster.bootstrap.server_process import main

    gc.freeze()
    gc.enable()
    return main()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(_start())
