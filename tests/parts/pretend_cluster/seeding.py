"""What goes on in a pretended cluster: three virtual clusters, several users, and jobs that run, wait, fail and end."""

import json
import random
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from tests.parts.server import PATIENCE, MusterServer

CLUSTER_FILES = {
    "lab": "name: lab\nbackend: pretend\ndescription: 40 nodes with 8 GPUs each\nsize: 40\nsick: true\n",
    "vision": "name: vision\ncluster: lab\nguaranteed: {gpu: {A100-SXM4-80GB: 120}}\n",
    "speech": "name: speech\ncluster: lab\nguaranteed: {gpu: {RTX3090: 64}}\n",
    "interns": "name: interns\ncluster: lab\nguaranteed: {gpu: {H100-SXM5-80GB: 16}}\nmax: {gpu: 48}\n",
}
PEOPLE = ("ada", "chen.wei", "grace", "li.na", "linus", "wang.fang")
NAMES = (
    "resnet50-imagenet",
    "wide-and-deep",
    "ernie-base-pretrain",
    "conformer-aishell",
    "ppyolo-coco",
    "deepfm-criteo",
    "vit-l-finetune",
    "whisper-small-zh",
    "bert-ner",
    "diffusion-faces",
)
PASSWORD = "correct horse battery staple"


def seed(server: MusterServer, *, jobs: int = 60, seconds: float = 240.0) -> None:
    """`seconds` is about how long the longest jobs run."""
    chance = random.Random(3)
    tokens = {person: _token_of(server, person) for person in PEOPLE}
    for number in range(jobs):
        owner = chance.choice(PEOPLE)
        submit(server, tokens[owner], job_of(chance, number, seconds))


def job_of(chance: random.Random, number: int, seconds: float) -> dict[str, Any]:
    name = f"{NAMES[number % len(NAMES)]}-{number:02d}"
    virtual_cluster = chance.choice(("vision", "vision", "speech", "interns"))
    workers = chance.choice((1, 1, 2, 4) if virtual_cluster == "interns" else (1, 1, 2, 4, 8))
    gpus = chance.choice((1, 2, 4, 8))
    fails = number % 9 == 4
    lasts_s = chance.uniform(3, 12) if fails or number % 4 == 1 else chance.uniform(seconds / 4, seconds)
    env = {"PRETEND_S": f"{lasts_s:.0f}", "PRETEND_EXIT": "1" if fails else "0"}
    worker = {"replicas": workers, "command": "python train.py --lr ${params.lr}", "resources": {"cpu": 6, "gpu": gpus}}
    roles: dict[str, Any] = {"worker": worker}
    if number % 5 == 1:
        roles["ps"] = {"replicas": 2, "command": "python train.py", "resources": {"cpu": 8, "memory": "32Gi"}}
    return {
        "name": name,
        "cluster": virtual_cluster,
        "priority": chance.choice(("low", "normal", "normal", "high")),
        "params": {"lr": round(chance.choice((0.1, 0.01, 0.003)), 4)},
        "env": env,
        "labels": {"project": name.split("-")[0], "team": chance.choice(("cv", "nlp", "rec"))},
        "roles": roles,
    }


def submit(server: MusterServer, token: str, spec: Mapping[str, Any]) -> Any:
    return call(server, "POST", "/jobs", {"spec": spec}, token)


def call(server: MusterServer, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
    request = urllib.request.Request(
        f"{server.url}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token or server.token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE * 30) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None
    return json.loads(text) if text else None


def _token_of(server: MusterServer, person: str) -> str:
    call(server, "POST", "/users", {"name": person, "password": PASSWORD})
    login = {"user": person, "password": PASSWORD, "name": "seeding"}
    return str(call(server, "POST", "/login", login)["token"])
