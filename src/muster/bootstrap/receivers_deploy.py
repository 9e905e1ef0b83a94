"""`muster receivers deploy`: from a file to running receivers. What is as it should be already is left alone."""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from muster.bootstrap.error_printing import plain, print_error
from muster.bootstrap.receivers_clusters import cluster_notes
from muster.bootstrap.receivers_login import write_login
from muster.bootstrap.receivers_refused import open_log_server, refused_here, unknown_log_server
from muster.domain.errors import Invalid, MusterError, Unavailable
from muster.receivers.addresses import Address
from muster.receivers.controlling import NotDone, State, status_of, wait_for
from muster.receivers.deployments import Deployment, Register, Wanted, WantedByAddress
from muster.receivers.instances import CONFIG, STORE, Instance
from muster.receivers.start_files import (
    LOG_SERVER,
    MONITOR,
    RECEIVER,
    log_server_program,
    monitor_program,
    receiver_program,
)
from muster.receivers.written_files import Change, Files, WrittenFile, compared, write_changed
from muster.settings.receivers import DeployedReceiver, ReceiversPlan, read_receivers_file


@dataclass(frozen=True, slots=True)
class _Step:
    """What is to be done for one receiver."""

    instance: Instance
    files: Files
    changes: dict[str, Change]
    settings: str
    """A digest of what needs a new start."""
    before: Wanted | None

    @property
    def wanted(self) -> Wanted:
        """Settings that somebody has edited are theirs: the receiver runs on with them."""
        kept = self.before is not None and self.changes[CONFIG] is Change.KEPT
        settings = self.before.settings if kept and self.before is not None else self.settings
        return Wanted(True, settings, self.before.restarts if self.before is not None else 0)

    def lines(self) -> Iterator[str]:
        name = self.instance.name
        if self.before is None:
            yield f"{name}: created in {self.instance.folder}"
            return
        running = self.instance.running()
        is_current = running is not None and running.generation == self.wanted.generation
        changed = [file for file, change in self.changes.items() if change in (Change.CREATED, Change.CHANGED)]
        kept = [file for file, change in self.changes.items() if change is Change.KEPT]
        if changed:
            yield f"{name}: changed {', '.join(changed)}" + ("; it runs on" if is_current else "")
        if kept:
            yield f"{name}: kept {', '.join(kept)}, which somebody has edited; remove it to have it written anew"
        if running is None:
            yield f"{name}: to be started"
        elif not is_current:
            yield f"{name}: to be started anew with its new settings"
        elif not changed and not kept:
            yield f"{name}: unchanged"


@dataclass(frozen=True, slots=True)
class _Store:
    """What all receivers share. Its settings are for commands that work on it: checks of cluster files, backups."""

    folder: Path
    files: Files
    changes: dict[str, Change]

    def lines(self) -> Iterator[str]:
        if self.changes[CONFIG] is Change.KEPT:
            yield f"{STORE}: kept {CONFIG}, which somebody has edited; remove it to have it written anew"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster receivers deploy")
    parser.add_argument("file", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args(argv)
    try:
        _deploy(read_receivers_file(given.file, refused_here), is_dry_run=given.dry_run)
    except MusterError as error:
        print_error(error)
        return 2 if isinstance(error, Invalid) else 1
    except KeyboardInterrupt:
        return 130
    return 0


def _deploy(plan: ReceiversPlan, *, is_dry_run: bool) -> None:
    deployment = Deployment(plan.settings.deploy_dir)
    before = deployment.wanted()
    steps = [_step(plan, deployment, receiver, before) for receiver in plan.settings.receivers]
    store = _store(plan, deployment)
    gone = [address for address in before if address not in {step.instance.address for step in steps}]
    about_log_server = (*unknown_log_server(plan.settings), *open_log_server(plan.settings))
    for note in (*plan.notes, *about_log_server, *cluster_notes(plan, deployment)):
        sys.stderr.write(f"note: {plain(note)}\n")
    for line in (*(line for step in steps for line in step.lines()), *store.lines(), *_left(deployment, gone)):
        _say(line)
    if is_dry_run:
        _say("nothing was done, because of --dry-run")
        return
    try:
        _write(deployment, steps, store, gone)
        Register.of_account().add(deployment)
        _run(deployment, [step.instance.address for step in steps], gone)
        write_login(deployment.store, plan.settings.receivers)
    except OSError as error:
        raise Unavailable(f"cannot write to {error.filename}: {error.strerror}") from None


def _step(plan: ReceiversPlan, deployment: Deployment, receiver: DeployedReceiver, before: WantedByAddress) -> _Step:
    instance = deployment.instance(receiver.parsed)
    config = _config(plan, instance, receiver)
    files = _files(plan, instance, config)
    needs_start = json.dumps({key: value for key, value in config.items() if key != "offers"}, sort_keys=True)
    digest = hashlib.sha256(needs_start.encode()).hexdigest()[:16]
    return _Step(instance, files, compared(instance.folder, files), digest, before.get(instance.address))


def _store(plan: ReceiversPlan, deployment: Deployment) -> _Store:
    files = {CONFIG: WrittenFile(_yaml(_shared_config(plan)))}
    return _Store(deployment.store, files, compared(deployment.store, files))


def _config(plan: ReceiversPlan, instance: Instance, receiver: DeployedReceiver) -> dict[str, Any]:
    config: dict[str, Any] = {"host": instance.address.host, "port": instance.address.port}
    config["logFile"] = str(instance.folder / "server.log")
    if receiver.offers is not None:
        config["offers"] = list(receiver.offers)
    elif plan.settings.platform is not None:
        config["offers"] = str(plan.clusters)
    return {**config, **_shared_config(plan)}


def _shared_config(plan: ReceiversPlan) -> dict[str, Any]:
    settings = plan.settings
    config: dict[str, Any] = {}
    if settings.database is not None:
        config["database"] = settings.database
    if plan.clusters is not None:
        config["clusters"] = str(plan.clusters)
    if settings.log_server is not None:
        config["logServer"] = settings.log_server.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {**config, **settings.settings}


def _files(plan: ReceiversPlan, instance: Instance, config: dict[str, Any]) -> Files:
    settings, log_server = plan.settings, plan.settings.log_server
    monitor = {
        "receivers": [receiver.address for receiver in settings.receivers],
        "warning_maillist": list(settings.warning_maillist),
        "stateFile": "monitor.json",
    }
    return {
        CONFIG: WrittenFile(_yaml(config)),
        "monitor.yaml": WrittenFile(_yaml(monitor)),
        RECEIVER: receiver_program(instance.folder),
        LOG_SERVER: log_server_program(*(log_server.url, log_server.token_file) if log_server else (None, None)),
        MONITOR: monitor_program(),
    }


def _yaml(values: dict[str, Any]) -> str:
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def _left(deployment: Deployment, gone: Sequence[Address]) -> Iterator[str]:
    for address in gone:
        if deployment.instance(address).running() is not None:
            then = f"`muster receivers remove {address}` deletes its folder"
            yield f"{address}: no longer in the file, to be stopped; {then}"


def _write(deployment: Deployment, steps: Sequence[_Step], store: _Store, gone: Sequence[Address]) -> None:
    deployment.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store.folder.mkdir(mode=0o700, exist_ok=True)
    write_changed(store.folder, store.files, store.changes)
    for step in steps:
        step.instance.folder.mkdir(mode=0o700, exist_ok=True)
        write_changed(step.instance.folder, step.files, step.changes)

    def changed(found: dict[Address, Wanted]) -> WantedByAddress:
        stopped = {
            address: Wanted(False, one.settings, one.restarts) for address, one in found.items() if address in gone
        }
        return {**found, **stopped, **{step.instance.address: step.wanted for step in steps}}

    deployment.change(changed)


def _run(deployment: Deployment, addresses: Sequence[Address], gone: Sequence[Address]) -> None:
    try:
        wait_for(deployment, gone, State.STOPPED, _tell)
        wait_for(deployment, addresses, State.RUNNING, _tell)
    except NotDone as error:
        raise Unavailable(
            f"not all receivers run:\n{error}", hint="`muster receivers logs NAME` shows what one said"
        ) from None
    for address in addresses:
        _say(f"{address}: running, pid {status_of(deployment, address).pid}")


def _say(line: str) -> None:
    sys.stdout.write(f"{plain(line)}\n")
    sys.stdout.flush()


def _tell(line: str) -> None:
    sys.stderr.write(f"{plain(line)}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
