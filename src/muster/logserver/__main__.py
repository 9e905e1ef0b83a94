"""`python -m muster.logserver`, which `muster logserver` starts."""

import sys

from muster.logserver.process import main

if __name__ == "__main__":
    sys.exit(main())
