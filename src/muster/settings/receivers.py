"""The file of `muster receivers deploy`: YAML, or the Python file of the old platform. Its keys are the variables of
that file, and some more."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from muster.domain.errors import Invalid, Problem
from muster.receivers.addresses import Address, parse_address
from muster.settings.log_server import LogServerSettings
from muster.settings.monitor import MailAddress
from muster.settings.offers import clusters_in
from muster.settings.server import ServerSettings, load_values
from muster.settings.settings_files import read_settings_file, validated
from muster.wire.documents import Document

MOST_RECEIVERS = 100
NODES_CONFIGS = Path("core/nodes.configs")
"""Where the old platform keeps a folder for each of its clusters."""
_OF_DEPLOYMENT = ("home", "host", "port", "standby", "database", "clusters", "offers", "log_file", "log_server")
"""Settings of a server that the deployment decides."""


def _address(value: str) -> str:
    return str(parse_address(value))


def _receiver(value: Any) -> Any:
    return {"address": value} if isinstance(value, str) else value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class DeployedReceiver(_Part):
    address: Annotated[str, AfterValidator(_address)] = Field(description="host:port to listen on; it is its name.")
    offers: tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(
        None, description="The clusters that people may use through it; all by default."
    )

    @field_validator("offers")
    @classmethod
    def _offers_something(cls, offers: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if offers is not None and not offers:
            raise ValueError("names no cluster: leave it out to offer all")
        return offers

    @property
    def parsed(self) -> Address:
        return parse_address(self.address)


class ReceiversFile(_Part):
    receivers: tuple[Annotated[DeployedReceiver, BeforeValidator(_receiver)], ...] = Field(
        description="The receivers, as host:port or as {address, offers}."
    )
    deploy_dir: Path = Field(description="The folder for the deployment, as an absolute path.")
    platform: Path | None = Field(
        None, description="The folder `train` of the old platform: the folders in its core/nodes.configs are clusters."
    )
    scheduler: Path | None = Field(None, description="Has no effect: Muster schedules itself.")
    clusters: Path | None = Field(None, description="The folder of the cluster files, if there is no platform.")
    log_server: LogServerSettings | None = Field(None, description="The log server: host:port, or a mapping.")
    warning_maillist: tuple[MailAddress, ...] = Field((), description="Whom the monitor writes to.")
    database: str | None = Field(None, min_length=1, description="An SQLAlchemy URL; by default, a SQLite file.")
    settings: dict[str, Any] = Field(default_factory=dict, description="More settings of every receiver.")

    @field_validator("receivers")
    @classmethod
    def _are_some(cls, receivers: tuple[DeployedReceiver, ...]) -> tuple[DeployedReceiver, ...]:
        if not 1 <= len(receivers) <= MOST_RECEIVERS:
            raise ValueError(f"names {len(receivers)} receivers: expected 1 to {MOST_RECEIVERS}")
        return receivers

    @field_validator("deploy_dir", "platform", "clusters")
    @classmethod
    def _is_absolute(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_absolute():
            raise ValueError("must be an absolute path: it must not depend on where the command is run")
        return path

    @field_validator("settings")
    @classmethod
    def _leaves_the_rest(cls, settings: dict[str, Any]) -> dict[str, Any]:
        names = {field.alias or name: name for name, field in ServerSettings.model_fields.items()}
        taken = [key for key in settings if names.get(key, key) in _OF_DEPLOYMENT]
        if taken:
            raise ValueError(f"must not have {', '.join(taken)}: the deployment decides that")
        return settings


@dataclass(frozen=True, slots=True)
class ReceiversPlan:
    """What the file says, with the paths that follow from it."""

    file: Path
    settings: ReceiversFile
    clusters: Path | None
    """The folder of the cluster files; that of the shared home if there is none."""
    notes: tuple[str, ...]
    document: Document

    def problem(self, place: int, message: str, hint: str = "") -> Problem:
        """About one of the receivers."""
        path = f"receivers[{place}]"
        return Problem(path, message, hint, self.document.line(path), str(self.file))


def read_receivers_file(path: Path) -> ReceiversPlan:
    """Raises Invalid with all problems, each with its line."""
    document = read_settings_file(path, "receivers and deploy_dir")
    parts: dict[str, type[BaseModel]] = {"receivers": DeployedReceiver, "log_server": LogServerSettings}
    settings = validated(path, document, ReceiversFile, parts, "the receivers")
    problems = [*_twice(settings), *_missing_folders(settings), *_wrong_settings(settings)]
    if problems:
        placed = tuple(replace(one, line=document.line(one.path), file=str(path)) for one in problems)
        raise Invalid(f"the receivers in {path} are wrong", problems=placed)
    folder = settings.platform / NODES_CONFIGS if settings.platform is not None else settings.clusters
    return ReceiversPlan(path, settings, folder, tuple(_notes(settings, folder)), document)


def _twice(settings: ReceiversFile) -> list[Problem]:
    first: dict[str, int] = {}
    found = []
    for place, receiver in enumerate(settings.receivers):
        earlier = first.setdefault(receiver.parsed.folder, place)
        if earlier != place:
            message = f"{receiver.address} is given twice"
            found.append(Problem(f"receivers[{place}]", message, f"it is also receivers[{earlier}]"))
    return found


def _missing_folders(settings: ReceiversFile) -> list[Problem]:
    found = []
    if settings.platform is not None and not (settings.platform / NODES_CONFIGS).is_dir():
        message = f"there is no folder {settings.platform / NODES_CONFIGS}"
        found.append(Problem("platform", message, "its folders are the clusters; leave platform out to use clusters.d"))
    if settings.clusters is not None and settings.platform is not None:
        found.append(Problem("clusters", "is given besides platform", "choose one of them"))
    elif settings.clusters is not None and not settings.clusters.is_dir():
        found.append(Problem("clusters", f"there is no folder {settings.clusters}"))
    return found


def _wrong_settings(settings: ReceiversFile) -> list[Problem]:
    """The settings are checked as the receivers will check them, so that none of them fails at its start."""
    log_server = {} if settings.log_server is None else {"logServer": settings.log_server.model_dump(mode="json")}
    try:
        load_values({"home": settings.deploy_dir, **settings.settings, **log_server})
    except Invalid as error:
        return [replace(one, path=_path_of(one)) for one in error.problems]
    return []


def _path_of(problem: Problem) -> str:
    name, mark, rest = problem.path.partition(".")
    return f"log_server{mark}{rest}" if name == "logServer" else f"settings.{problem.path}".rstrip(".")


def _notes(settings: ReceiversFile, folder: Path | None) -> list[str]:
    notes = []
    if settings.scheduler is not None:
        notes.append("scheduler has no effect: Muster schedules itself")
    if settings.platform is not None and folder is not None:
        bare = [name for name in clusters_in(folder) if not _has_file(folder, name)]
        if bare:
            notes.append(f"no jobs can run on {', '.join(bare)}: there is no cluster.yaml in {folder}/{bare[0]}")
    return notes


def _has_file(folder: Path, name: str) -> bool:
    inside = [folder / name / "cluster.yaml", folder / name / "cluster.yml"]
    return any(path.is_file() for path in [*inside, folder / f"{name}.yaml", folder / f"{name}.yml"])
