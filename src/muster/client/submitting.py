"""Prepares a submission from a Job, a spec or a file, and packs its folder.

YAML text is sent to the server unchanged, so that the server can name the lines that are wrong.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from muster.client.errors import BAD_INPUT, MusterError, Problem
from muster.client.foreign_files import default_name, folder_of_script, folder_of_task
from muster.client.inputs import GivenInput, missing_inputs, read_inputs
from muster.client.uploading import Announce
from muster.lib.script_texts import is_script

if TYPE_CHECKING:
    from muster.client.packing import Package
    from muster.client.specs import Job

Submittable: TypeAlias = "Job | Mapping[str, Any] | str | Path"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ON_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]+(?:/[^/:]+)?:.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Submission:
    """What to send. `folder` is the folder to pack, or `parts` are files and folders that become one package, each
    under its path in it; `digest` names a package that the server may already have. `inputs` is None if there are none,
    or if they cannot be parsed here. `file` is what problems call the file that it is from, if there are several."""

    body: Mapping[str, Any]
    folder: Path | None = None
    digest: str | None = None
    inputs: tuple[GivenInput, ...] | None = None
    file: str = ""
    parts: Mapping[str, Path] = field(default_factory=dict)
    is_sweep: bool = False
    """Whether it makes many jobs, which differ in their params."""

    def with_package(self, digest: str | None) -> dict[str, Any]:
        return {**self.body, "package": digest} if digest else dict(self.body)

    def without_files(self) -> dict[str, Any]:
        """Returns what a dry run sends: the server does not have the folder and the inputs, and need not."""
        without: dict[str, Any] = {} if self.folder is None else {"package": None}
        if self.inputs:
            without["inputs"] = []
        body = self.with_package(self.digest)
        return {**body, "set": {**body.get("set", {}), **without}} if without else body


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to the spec: `overrides` by path (`roles.worker.replicas`), `params` by name."""

    overrides: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


def prepare(job: Submittable, changes: Changes) -> Submission:
    if isinstance(job, str | Path):
        path = Path(job).expanduser()
        return from_text(read_text(path), path.parent, changes, path)
    return from_spec(job if isinstance(job, Mapping) else job.to_spec(), changes)


def read_text(path: Path) -> str:
    try:
        text = path.expanduser().read_bytes().decode()
    except OSError as error:
        raise MusterError(f"cannot read {path}: {error.strerror}", code=BAD_INPUT) from error
    except UnicodeDecodeError as error:
        raise MusterError(f"{path} is not a text file", code=BAD_INPUT, hint="a job spec is YAML or JSON") from error
    # Line breaks mean nothing in YAML. In a script they do, and the server says what is wrong with those of DOS.
    return text if is_script(text) else text.replace("\r\n", "\n").replace("\r", "\n")


def from_spec(spec: Mapping[str, Any], changes: Changes, folder: Path | None = None) -> Submission:
    beside = folder or Path.cwd()
    inputs = read_inputs(spec.get("inputs"), beside)
    package = spec.get("package")
    taken = {key for key, is_sent in (("package", not _is_place(package)), ("inputs", inputs is not None)) if is_sent}
    kept = {key: value for key, value in spec.items() if key not in taken}
    is_sweep = spec.get("sweep") is not None or _sets_sweep(changes)
    return replace(_submission({"spec": kept}, package, inputs, beside, changes), is_sweep=is_sweep)


def from_text(text: str, folder: Path, changes: Changes, file: Path | None = None) -> Submission:
    """`folder` is the base of a relative `package` or input in the text. `file` names a job whose text does not."""
    written = _written_in(text, folder)
    name = default_name(text, file) if file is not None and "name" not in changes.overrides else ""
    if name:
        changes = replace(changes, overrides={"name": name, **changes.overrides})
    inputs = read_inputs(written.get("inputs"), folder)
    is_sweep = written.get("sweep") is not None or _sets_sweep(changes)
    return replace(_submission({"source": text}, written.get("package"), inputs, folder, changes), is_sweep=is_sweep)


def missing_files(submission: Submission) -> list[Problem]:
    """Returns a problem for the folder and for each input that is to be sent and does not exist."""
    problems = missing_inputs(submission.inputs or ())
    if submission.folder is not None and not submission.folder.is_dir():
        problems.append(
            Problem("package", f"{submission.folder} is not a folder", "`package` names the folder to send")
        )
    text = str(submission.body.get("source", ""))
    return [replace(problem, line=_line_of(problem.path, text)) for problem in problems]


def refusal(missing: Sequence[Problem], refused: MusterError | None) -> MusterError:
    """Returns the error that reports the missing files together with what the server refused of the same job."""
    if refused is None and len(missing) == 1:
        path, message, hint = missing[0].path, missing[0].message, missing[0].hint
        return MusterError(f"the input {message}" if path == "inputs" else message, code=BAD_INPUT, hint=hint)
    found = [] if refused is None else list(refused.problems) or [Problem("", refused.message, refused.hint)]
    problems = sorted([*found, *missing], key=lambda problem: problem.line or 0)
    return MusterError(
        f"the job spec has {len(problems)} problems",
        code=BAD_INPUT if refused is None else refused.code,
        status=0 if refused is None else refused.status,
        problems=problems,
    )


@contextmanager
def packed(submission: Submission, announce: Announce | None = None) -> "Iterator[Package | None]":
    if submission.folder is None and not submission.parts:
        yield None
        return
    from muster.client.packing import (
        pack,
        pack_parts,
    )  # so that `muster get jobs` does not import the code for archives and digests

    if submission.folder is None:
        with pack_parts(submission.parts) as package:
            yield package
    else:
        with pack(submission.folder, announce=announce) as package:
            yield package


def _submission(
    body: Mapping[str, Any], named: Any, inputs: tuple[GivenInput, ...] | None, folder: Path, changes: Changes
) -> Submission:
    overrides = dict(changes.overrides)
    replaced = read_inputs(overrides.get("inputs"), Path.cwd())
    if replaced is not None:
        inputs = replaced
        overrides.pop("inputs")
    if "package" in overrides:
        named, folder = overrides["package"], Path.cwd()
        if not _is_place(named):
            overrides.pop("package")
    if overrides:
        body = {**body, "set": overrides}
    if changes.params:
        body = {**body, "params": dict(changes.params)}
    if not isinstance(named, str) or not named or _is_place(named):
        return Submission(body, inputs=inputs)  # absent, on the cluster, or not valid, which the server will report
    if _DIGEST.fullmatch(named):
        return Submission(body, digest=named, inputs=inputs)
    return Submission(body, folder=(folder / Path(named).expanduser()).resolve(), inputs=inputs)


def _sets_sweep(changes: Changes) -> bool:
    return any(path.partition(".")[0] == "sweep" for path in changes.overrides)


def _is_place(package: Any) -> bool:
    return isinstance(package, str) and is_on_cluster(package)


def is_on_cluster(package: str) -> bool:
    """Whether it names a package that lies on a cluster, and no folder here. `C:` is a drive."""
    return _ON_CLUSTER.fullmatch(package) is not None


def _line_of(key: str, text: str) -> int | None:
    """Returns the line of a key of the outermost mapping, or None where the text does not begin a line with it."""
    found = re.search(rf"^{key}[ \t]*:", text, re.MULTILINE)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def _written_in(text: str, folder: Path) -> Mapping[str, Any]:
    if is_script(text):
        return {"package": folder_of_script(Path.cwd())}
    if not any(key in text for key in ("package", "inputs", "workdir", "repos", "files", "jobPackage", "sweep")):
        return {}  # the usual case, which needs no YAML library
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader, in C where there is one
    except yaml.YAMLError:
        return {}  # the server reports what is wrong, with the line
    if not isinstance(document, dict):
        return {}
    foreign = folder_of_task(document, folder)
    return document if foreign is None else {"package": foreign}
