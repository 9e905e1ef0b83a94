"""Decides which settings are in effect when cluster files have mistakes: a file with a mistake keeps its last version.

The last versions of all files were valid together. Starting from them, each change is applied if the result is valid,
and the other changes are reported. A mistake therefore affects only the file that contains it, both at startup and on
a change, and if two files contradict each other, the one that is already in effect wins.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from muster.domain.errors import Invalid, Problem
from muster.ports.cluster_config import ClusterSettings, Refusal, no_refusal
from muster.settings.cluster_files import Files, Text, Unreadable, is_document
from muster.settings.clusters import ClusterFolder
from muster.wire.documents import Document, read_documents

Version = Text | Unreadable | None
"""A version of a file; None means that there is no such file."""


@dataclass(frozen=True, slots=True)
class Settled:
    settings: ClusterSettings
    texts: Mapping[str, str]
    """The texts of the files in effect, by name."""
    problems: tuple[Problem, ...] = ()


def settle(folder: ClusterFolder, before: Mapping[str, str], refusal: Refusal = no_refusal) -> Settled:
    """Settle which files are in effect. `before` has the texts that were in effect until now.

    This never raises Invalid: mistakes are returned in `problems`.
    """
    trial = _Trial(folder, refusal)
    kept = {name: Text(text, was_in_force=True) for name, text in before.items()}
    try:
        now = folder.files(kept)
    except Invalid as error:
        return _settled(trial, trial.soundest(kept, kept), error.problems)
    problems = trial.problems(now)
    if not problems:
        return _settled(trial, now, [])
    files = trial.soundest(now, kept, {problem.file for problem in problems})
    return _settled(trial, files, [*problems, *_left(trial, files, now, problems)])


class _Trial:
    """Tries sets of files that might be put into effect. Each text is parsed only once."""

    def __init__(self, folder: ClusterFolder, refusal: Refusal) -> None:
        self._folder = folder
        self._refusal = refusal
        self._parse: Callable[[str], list[Document]] = cache(read_documents)

    def settings(self, files: Files) -> ClusterSettings:
        """Raises Invalid."""
        return self._folder.said(files, self._parse)

    def problems(self, files: Files) -> Sequence[Problem]:
        try:
            return self._refusal(self.settings(files))
        except Invalid as error:
            return error.problems

    def soundest(self, now: Files, kept: Files, wrong: Collection[str] = ()) -> Files:
        """Return as much of `now` as is valid together with the rest of `kept`. `wrong` are the files with mistakes."""
        files = {} if self.problems(kept) else kept
        fine = _with(files, {name: now.get(name) for name in _changed(files, now) if name not in wrong})
        files = files if self.problems(fine) else fine
        seen = None
        while files != seen:  # a change may become valid only after another one
            seen = files
            for name in _changed(files, now):
                files = self._nearer(files, name, now.get(name), kept.get(name))
        return files

    def _nearer(self, files: Files, name: str, *versions: Version) -> Files:
        tried = (_with(files, {name: version}) for version in versions)
        return next((found for found in tried if found == files or not self.problems(found)), files)

    def named(self, files: Files) -> Iterator[str]:
        """Yield the names of the documents and of the node lists that they refer to."""
        yield from filter(is_document, files)
        yield from self._folder.lists(files, self._parse)


def _with(files: Files, versions: Mapping[str, Version]) -> Files:
    found = {**files, **versions}
    return {name: version for name, version in found.items() if version is not None}


def _changed(files: Files, now: Files) -> list[str]:
    return [name for name in sorted({*files, *now}) if _text(files.get(name)) != _text(now.get(name))]


def _text(version: Version) -> str | Unreadable | None:
    return version.text if isinstance(version, Text) else version


def _left(trial: _Trial, files: Files, now: Files, problems: Sequence[Problem]) -> Iterator[Problem]:
    """Report each file whose current version is not in effect, with the reason if the file itself has no mistake."""
    wrong = {problem.file for problem in problems}
    for name in _changed(files, now):
        stays = "its last valid version stays in effect" if name in files else "is left out"
        told = [] if name in wrong else trial.problems(_with(files, {name: now.get(name)}))
        why = [str(problem) for problem in told if problem not in problems]
        to_fix = _are(sorted({problem.file for problem in told if problem.file and is_document(name)}) or ["it"])
        yield Problem("", f"{stays}: {'; '.join(why)}" if why else f"{stays} until {to_fix} fixed", file=name)


def _are(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _settled(trial: _Trial, files: Files, problems: Sequence[Problem]) -> Settled:
    named = {*trial.named(files)}
    texts = {name: version.text for name, version in files.items() if isinstance(version, Text) and name in named}
    judged = {
        name: Text(text, was_in_force=True) for name, text in texts.items()
    }  # a key file may disappear at any moment
    return Settled(trial.settings(judged), texts, tuple(problems))
