"""`python -m muster.bootstrap`, which `muster up` and `muster server` start."""

import gc
import signal
import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from types import ModuleType


def _start() -> int:
    """Hundreds of modules are loaded without a garbage collection: they leave no garbage, and looking for it takes a
    tenth of the start. What they consist of is not looked at later either. And rich, which structlog would load for
    tracebacks in colour, is hidden meanwhile: with all that it loads itself it takes another twentieth, and the log of
    the server has none."""
    gc.disable()
    sys.modules["rich"] = cast("ModuleType", None)
    from muster.bootstrap.server_process import main

    del sys.modules["rich"]
    gc.freeze()
    gc.enable()
    return main()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        code = _start()
    except KeyboardInterrupt:  # while modules are still loaded
        code = 130
    sys.exit(code)
