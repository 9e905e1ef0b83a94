"""The file of `muster receivers deploy`: YAML, or the Python file of the old platform. Its keys are the variables of
that file, and some more."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from muster.domain.errors import Invalid, Problem
from muster.receivers.addresses import Address, parse_address
from muster.receivers.instances import STORE
from muster.settings.log_server import LogServerSettings, read_token
from muster.settings.monitor import MailAddress
from muster.settings.offers import clusters_in
from muster.settings.server import ServerSettings, load_values
from muster.settings.settings_files import read_settings_file, validated

MOST_RECEIVERS = 100
NODES_CONFIGS = Path("core/nodes.configs")
"""The folder in which the old platform keeps a folder for each of its clusters."""
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

    @field_validator("platform")
    @classmethod
    def _has_clusters(cls, path: Path | None) -> Path | None:
        if path is not None and not (path / NODES_CONFIGS).is_dir():
            folder = path / NODES_CONFIGS
            raise ValueError(f"there is no folder {folder}: its folders are the clusters; or leave platform out")
        return path

    @field_validator("clusters")
    @classmethod
    def _is_there(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_dir():
            raise ValueError(f"there is no folder {path}")
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

    settings: ReceiversFile
    clusters: Path | None
    """The folder of the cluster files; that of the shared home if there is none."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sound:
    """What can be checked further, whatever else is wrong in the file."""

    addresses: dict[int, Address]
    """The addresses, by their places in the list of receivers."""
    deploy_dir: Path | None
    database: str | None

    @property
    def home(self) -> Path:
        """The folder at which relative paths of settings start."""
        return (self.deploy_dir or Path("/")) / STORE


Refuse = Callable[[Sound], Iterable[Problem]]
"""Finds what only this machine can say, such as ports in use. Its problems need no lines."""


def nothing_refused(sound: Sound) -> Iterable[Problem]:
    return ()


def read_receivers_file(path: Path, refuse: Refuse = nothing_refused) -> ReceiversPlan:
    """Raises Invalid with all problems, each with its line."""
    document = read_settings_file(path, "receivers and deploy_dir")
    parts: dict[str, type[BaseModel]] = {"receivers": DeployedReceiver, "log_server": LogServerSettings}
    settings, problems = None, list[Problem]()
    try:
        settings = validated(path, document, ReceiversFile, parts, "the receivers")
    except Invalid as error:
        problems += error.problems
    wrong = {problem.path.partition(".")[0] for problem in problems}
    right = {key: value for key, value in document.data.items() if key not in wrong}
    sound = _sound(document.data.get("receivers"), right)
    found = [*_twice(sound), *_two_folders(document.data), *_wrong_settings(right, sound), *refuse(sound)]
    problems += (replace(one, line=document.line(one.path), file=str(path)) for one in found)
    if settings is None or problems:
        ordered = sorted(problems, key=lambda problem: problem.line or 0)
        raise Invalid(f"the receivers in {path} cannot be deployed", problems=tuple(ordered))
    folder = settings.platform / NODES_CONFIGS if settings.platform is not None else settings.clusters
    return ReceiversPlan(settings, folder, tuple(_notes(settings, folder)))


def _sound(receivers: Any, right: Mapping[str, Any]) -> Sound:
    places = enumerate(receivers if isinstance(receivers, list) else ())
    found = {place: address for place, one in places if (address := _address_in(one)) is not None}
    folder = Path(right["deploy_dir"]) if "deploy_dir" in right else None
    return Sound(found, folder, right.get("database"))


def _address_in(receiver: Any) -> Address | None:
    given = receiver.get("address") if isinstance(receiver, dict) else receiver
    try:
        return parse_address(given) if isinstance(given, str) else None
    except ValueError:
        return None


def _twice(sound: Sound) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for place, address in sound.addresses.items():
        earlier = first.setdefault(address.folder, place)
        if earlier != place:
            yield Problem(f"receivers[{place}]", f"{address} is given twice", f"it is also receivers[{earlier}]")


def _two_folders(data: Mapping[str, Any]) -> Iterator[Problem]:
    if data.get("clusters") is not None and data.get("platform") is not None:
        yield Problem("clusters", "is given besides platform", "choose one of them")


def _wrong_settings(right: Mapping[str, Any], sound: Sound) -> Iterator[Problem]:
    """The settings are checked as the receivers will check them, so that none of them fails at its start."""
    try:
        load_values({"home": sound.home, **(right.get("settings") or {})})
    except Invalid as error:
        yield from (replace(one, path=f"settings.{one.path}".rstrip(".")) for one in error.problems)
    if right.get("log_server") is not None:
        try:
            read_token(LogServerSettings.model_validate(right["log_server"]), sound.home)
        except ValueError as error:
            yield Problem("log_server", str(error))


def _notes(settings: ReceiversFile, folder: Path | None) -> list[str]:
    notes = []
    if settings.scheduler is not None:
        notes.append("scheduler has no effect: Muster schedules itself")
    if not settings.warning_maillist:
        notes.append("start-monitor would tell nobody: give warning_maillist, or write `notices` into its monitor.yaml")
    if settings.platform is not None and folder is not None:
        bare = [name for name in clusters_in(folder) if not _has_file(folder, name)]
        if bare:
            notes.append(f"no jobs can run on {', '.join(bare)}: there is no cluster.yaml in {folder}/{bare[0]}")
    return notes


def _has_file(folder: Path, name: str) -> bool:
    inside = [folder / name / "cluster.yaml", folder / name / "cluster.yml"]
    return any(path.is_file() for path in [*inside, folder / f"{name}.yaml", folder / f"{name}.yml"])
