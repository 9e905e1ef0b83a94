"""What may be written into the options of sbatch. Slurm splits their lines at blanks, and has signs of its own in lists
of nodes and features: what a job file asks for must not be able to say more than its key is for.

`spec_support` refuses such values when a job is submitted, and `directive` never writes one.
"""

import re

from muster.domain.errors import Rejected

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FEATURE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*(=[A-Za-z0-9_][A-Za-z0-9_.:/-]*)?")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WORD = re.compile(r"[^\s\"'\\#]+")
_OPTION = re.compile(r"--[a-z][a-z-]*(=.*)?|hetjob")


def is_node(name: str) -> bool:
    """Whether it is the name of one node. Slurm's lists, such as n[1-4], and files are not."""
    return _NODE.fullmatch(name) is not None


def is_feature(text: str) -> bool:
    """Whether it is one feature, `name` or `name=value`, and neither a choice nor a count of several."""
    return _FEATURE.fullmatch(text) is not None


def is_gpu_model(name: str) -> bool:
    return _MODEL.fullmatch(name) is not None


def is_gres_type(name: str) -> bool:
    return _TYPE.fullmatch(name) is not None


def is_word(text: str) -> bool:
    """Whether Slurm reads it as one word, as it is."""
    return text.isprintable() and _WORD.fullmatch(text) is not None


def directive(option: str) -> str:
    """The line of a batch script for one option. Raises Rejected for anything that is more than that."""
    if not _OPTION.fullmatch(option) or not is_word(option):
        raise Rejected(f"{option!r} cannot be written as one option of sbatch")
    return f"#SBATCH {option}"
