"""Which test clusters exist on this machine: a number for each, kept in a file that names its folder and its owner.

The claim outlives the cluster's folder, so that what a killed test run left is found and removed by the next one.
"""

import contextlib
import fcntl
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.kube.layout import NUMBERS, Layout, cache_folder
from scripts.kube.processes import ProcessId

_CLAIMS = Path("/run/muster-kube")


class NoNumberFree(RuntimeError):
    """Every number belongs to a cluster that is in use."""


@dataclass(frozen=True)
class Claim:
    number: int
    root: Path
    owner: ProcessId | None
    """The process that the cluster must not outlive; None for a cluster that stays until it is taken down."""

    @property
    def layout(self) -> Layout:
        return Layout(self.number, self.root, cache_folder())

    @property
    def abandoned(self) -> bool:
        return self.owner is not None and not self.owner.alive


def existing_claim(root: Path) -> Claim | None:
    return next((claim for claim in all_claims() if claim.root == root), None)


def all_claims() -> list[Claim]:
    return [_read(path) for path in sorted(_CLAIMS.glob("*.json"))]


def claim_number(root: Path, owner: ProcessId | None, remove: Callable[[Layout], None]) -> Claim:
    """The claim of this folder, which is made if there is none. Clusters whose owner died are removed first."""
    with _locked():
        for claim in all_claims():
            if claim.abandoned:
                remove(claim.layout)
                _path(claim.number).unlink()
        found = existing_claim(root)
        if found is not None:
            return found
        taken = {claim.number for claim in all_claims()}
        number = next((number for number in NUMBERS if number not in taken), None)
        if number is None:
            raise NoNumberFree(f"all {len(NUMBERS)} clusters are in use; {_CLAIMS} names them")
        claim = Claim(number, root, owner)
        _write(claim)
        return claim


def release_number(claim: Claim) -> None:
    with _locked():
        _path(claim.number).unlink(missing_ok=True)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    _CLAIMS.mkdir(parents=True, exist_ok=True)
    with (_CLAIMS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _path(number: int) -> Path:
    return _CLAIMS / f"{number}.json"


def _read(path: Path) -> Claim:
    data = json.loads(path.read_text())
    owner = ProcessId(*data["owner"]) if data["owner"] else None
    return Claim(int(path.stem), Path(data["root"]), owner)


def _write(claim: Claim) -> None:
    owner = [claim.owner.pid, claim.owner.started] if claim.owner else None
    draft = _path(claim.number).with_suffix(".new")
    draft.write_text(json.dumps({"root": str(claim.root), "owner": owner}))
    draft.rename(_path(claim.number))
