"""The templates that Muster has."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

DESCRIPTIONS = {
    "single": "One process; needs nothing but Python.",
    "torch-ddp": "PyTorch with DistributedDataParallel, two workers.",
    "torch-torchrun": "PyTorch under torchrun, two workers.",
    "paddle-ps": "PaddlePaddle with two parameter servers and two workers.",
    "paddle-collective": "PaddlePaddle with DataParallel, two workers.",
    "tensorflow": "TensorFlow with MultiWorkerMirroredStrategy, two workers.",
    "jax": "JAX in two processes.",
    "mpi": "Ranks that share work by the variables of Open MPI; needs nothing but Python.",
}


def template_files(name: str) -> dict[str, str]:
    """Returns the texts of a template by their paths; nothing if there is no template of this name."""
    return dict(sorted(_texts(files(__package__) / "built_in" / name, ""))) if name in DESCRIPTIONS else {}


def _texts(folder: Traversable, above: str) -> Iterator[tuple[str, str]]:
    """The client may be a single archive, in which there are no files to be found by their path."""
    for entry in folder.iterdir():
        if entry.is_file():
            yield above + entry.name, entry.read_text(encoding="utf-8")
        elif entry.name != "__pycache__":
            yield from _texts(entry, f"{above}{entry.name}/")
