"""The agent's archive in the form that an interpreter runs without compiling it first: one file beside the archive.

Who comes before it is there, or with another Python, takes the archive itself. See `compiling`.
"""

from __future__ import annotations

import sys

RUN = (
    "import sys; sys.path[:0] = [sys.argv[1] + '.' + str(sys.implementation.cache_tag), sys.argv[1]]; "
    "from muster.agent.batch.{} import main; main()"
)
"""The program of `python -c`, with the archive as its argument."""


def compiled_path(archive: str) -> str:
    """The path of the archive that is compiled for the Python that runs this."""
    return "{}.{}".format(archive, sys.implementation.cache_tag)
