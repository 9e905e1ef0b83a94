"""`python -m muster.operator`, which `muster operator` starts."""

import sys

from muster.operator.process.main import main

if __name__ == "__main__":
    sys.exit(main())
