"""`muster import` of the folder of the old master/slaver task manager: shows, writes or submits what it becomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.cli.failures import Failure
from muster.cli.session import say
from muster.cli.tables.output import yaml_text
from muster.client.client import Client
from muster.client.master_slaver.folder import MasterFolder, read_folder
from muster.client.master_slaver.planning import Plan, plan_import
from muster.client.master_slaver.tasks import SOURCE

_AT_ONCE = 500
_ID = "imported-id"


@dataclass(frozen=True, slots=True)
class Applied:
    """How many jobs were made of the plan, and how many were there already."""

    queued: int
    recorded: int
    known: int


def planned(path: Path, cluster: str) -> Plan:
    folder = read_folder(path)
    return plan_import(folder, cluster, lambda task_id: _log_time(folder, task_id))


def write_files(plan: Plan, home: Path) -> None:
    """Writes the settings and the cluster file into the home folder of a server. What is there is never changed."""
    for path, document in _files(plan, home).items():
        text = yaml_text(document)
        if path.exists():
            if path.read_text(encoding="utf-8") != text:
                raise Failure(f"{path} is there already, and says something else", hint="compare it with this plan")
            say(f"{path} is there already")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        say(f"wrote {path}")


def apply(plan: Plan, client: Client) -> Applied:
    """Records the history, and submits the waiting tasks, all or none. What an earlier call made is not made again."""
    found = client.jobs(label=f"imported-from={SOURCE}")
    known = {str(job.raw["labels"].get(_ID)) for job in found}
    ended = [record for record in plan.history if record["id"] not in known]
    waiting = [spec for spec in plan.queued if spec["labels"][_ID] not in known]
    recorded = sum(client.import_ended(SOURCE, part) for part in _parts(ended))
    if waiting:
        client.submit_many(waiting)
    return Applied(len(waiting), recorded, len(plan.history) + len(plan.queued) - recorded - len(waiting))


def _files(plan: Plan, home: Path) -> dict[Path, Mapping[str, Any]]:
    files = {home / "clusters.d" / f"{plan.cluster['name']}.yaml": plan.cluster}
    return {home / "config.yaml": plan.settings, **files} if plan.settings else files


def _parts(records: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    return [records[start : start + _AT_ONCE] for start in range(0, len(records), _AT_ONCE)]


def _log_time(folder: MasterFolder, task_id: str) -> float | None:
    """The logs are beside the data, which this machine may have or not."""
    logs = Path(folder.root, str(folder.conf.get("train_log_path") or ""))
    try:
        return (logs / f"{task_id}.log").stat().st_mtime
    except OSError:
        return None
