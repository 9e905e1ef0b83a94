"""The folder `clusters.d`: physical clusters, their nodes, virtual clusters and labels of nodes, one or several
documents a file. All that is wrong is told at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from muster.domain.errors import Invalid, Problem
from muster.settings.cluster_reading import ClusterSettings, Found, Reading
from muster.settings.physical import NamedFiles
from muster.wire.documents import Document, read_documents

__all__ = ["ClusterFolder", "ClusterSettings"]
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """`physical` are the clusters that there are without a file, the default first."""

    path: Path
    physical: tuple[str, ...]

    def read(self, instead: Mapping[str, str | None] = MappingProxyType({})) -> ClusterSettings:
        """Raises Invalid with every problem of every file. `instead` has the texts that files would have if they were
        written, None for one that would be removed."""
        reading = Reading(self.physical, NamedFiles(self.path))
        reading.take_all(list(self._documents(reading.problems, instead)))
        return reading.result(self.path)

    def files_beside(self) -> frozenset[Path]:
        """What else the settings hang on: node lists, keys and password files. Those of wrong files too, which may be
        mended by mending one of these."""
        named = NamedFiles(self.path)
        return frozenset(path for found in self._documents([], {}) for path in named.of(found.document))

    def _documents(self, problems: list[Problem], instead: Mapping[str, str | None]) -> Iterator[Found]:
        files = {file for file in self._files(problems) if file.name not in instead}
        files |= {self.path / name for name, text in instead.items() if text is not None}
        for file in sorted(files):
            for document in _documents(file, instead.get(file.name), problems):
                yield Found(file, document)

    def _files(self, problems: list[Problem]) -> list[Path]:
        """Hidden ones are what editors leave beside a file."""
        try:
            files = list(self.path.iterdir())
        except OSError as error:
            problems.append(Problem("", f"cannot be read: {error.strerror}", file=str(self.path)))
            return []
        return [file for file in files if file.suffix in _SUFFIXES and not file.name.startswith(".")]


def _documents(file: Path, text: str | None, problems: list[Problem]) -> list[Document]:
    """Those that are not empty. `text` is what the file would have."""
    try:
        text = file.read_text(encoding="utf-8") if text is None else text
        return [document for document in read_documents(text) if document.data is not None]
    except OSError as error:
        problems.append(Problem("", f"cannot be read: {error.strerror}", file=file.name))
    except UnicodeDecodeError:
        problems.append(Problem("", "is no UTF-8 text", file=file.name))
    except Invalid as error:
        told = error.problems or (Problem("", error.message),)
        problems += [replace(problem, file=file.name) for problem in told]
    return []
