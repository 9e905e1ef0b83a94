"""The folder of a receiver: its settings, its start files, its output and the record of its process."""

from dataclasses import dataclass
from pathlib import Path

from muster.receivers.addresses import Address
from muster.receivers.processes import ProcessMark, is_alive
from muster.receivers.small_files import read_json, write_json

STORE = "store"
CONFIG = "config.yaml"
OUTPUT = "output.log"
_RECORD = "process.json"
_SUPERVISION = "supervision.json"


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """The record of a process, which it writes itself before it becomes the receiver."""

    mark: ProcessMark
    generation: str
    """Says of which settings it is the process, so that others have to be started anew."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """What the supervisor last found."""

    failures: int = 0
    """How often it ended by itself since it last ran for a while."""
    last_end: str = ""
    next_try_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Instance:
    deploy_dir: Path
    address: Address

    @property
    def name(self) -> str:
        return str(self.address)

    @property
    def folder(self) -> Path:
        return self.deploy_dir / self.address.folder

    @property
    def home(self) -> Path:
        """All receivers of a deployment share one."""
        return self.deploy_dir / STORE

    @property
    def config(self) -> Path:
        return self.folder / CONFIG

    @property
    def output(self) -> Path:
        return self.folder / OUTPUT

    @property
    def lock(self) -> Path:
        return self.folder / "launch.lock"

    def record(self) -> ProcessRecord | None:
        match read_json(self.folder / _RECORD):
            case {"pid": int(pid), "start": str(start), "generation": str(generation)}:
                return ProcessRecord(ProcessMark(pid, start), generation)
        return None

    def running(self) -> ProcessRecord | None:
        """The record of the process, if it is alive."""
        record = self.record()
        return record if record is not None and is_alive(record.mark) else None

    def write_record(self, record: ProcessRecord) -> None:
        values = {"pid": record.mark.pid, "start": record.mark.start, "generation": record.generation}
        write_json(self.folder / _RECORD, values)

    def supervision(self) -> Supervision:
        match read_json(self.folder / _SUPERVISION):
            case {"failures": int(failures), "lastEnd": str(last_end), "nextTryAt": int() | float() as at}:
                return Supervision(failures, last_end, float(at))
        return Supervision()

    def write_supervision(self, found: Supervision) -> None:
        values = {"failures": found.failures, "lastEnd": found.last_end, "nextTryAt": found.next_try_at}
        write_json(self.folder / _SUPERVISION, values)
