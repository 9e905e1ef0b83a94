"""Physical clusters in `clusters.d`: what may be written, and every mistake with its file, line and remedy."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.backends.logins.options import HostKeys, Login
from muster.backends.ssh.cluster_file.schema import SshIn, SshNodeIn
from muster.backends.ssh.options import Claims, SshNode, SshOptions, ssh_nodes
from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.errors import Invalid
from muster.domain.nodes import NodeSettings
from muster.ports.cluster_config import ClusterSettings
from muster.wire.physical_schema import FolderIn
from tests.parts.cluster_folders import cluster_folder

pytestmark = pytest.mark.fast

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHy3N0tArealKeyButLongEnough00"
EVERYTHING = f"""
name: lab
backend: ssh
description: six boxes
defaults:
  user: ubuntu
  port: 2200
  keyFile: lab.key
  passwordFile: lab.password
  jump: gate.example.org, li@inner:23
  hostKeys: first-use
  interface: ib0
  python: /usr/bin/python3.11
  root: /var/lib/muster-node
nodes:
  - gpu1
  - {{name: gpu2, host: 10.0.0.2, user: alice, hostKey: "{KEY}", address: 10.1.0.2,
      labels: {{rack: a}}, gpus: 4, gpuModels: [RTX3090]}}
  - li@10.0.0.3:2222
  - {{host: gpu4.example.org, jump: null, passwordFile: null, root: ~/tasks}}
folders:
  data: /home/lab/data
  envs: {{path: /home/lab/envs, shared: false, readOnly: true, users: [li], groups: [lab]}}
conda: envs/miniconda3
unreachableAfter: 5s
lostAfter: 2m
"""
SLAVERS = """[
  {"name": "n1", "ip": "10.0.0.11", "user_name": "lab", "gpu_count": 2, "gpu_info": ["RTX3090", "RTX3090"]},
  {"name": "n2", "ip": "10.0.0.12",
   "user_name": "lab", "gpu_count": 0, "gpu_info": []}
]
"""


def secret(path: Path, mode: int = 0o600) -> Path:
    path.write_text("word\n")
    path.chmod(mode)
    return path


def read(folder: Path, **files: str) -> ClusterSettings:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return cluster_folder(folder).read()


def cluster(folder: Path, **files: str) -> PhysicalCluster:
    (found,) = read(folder, **files).physical
    return found


def told(folder: Path, **files: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        read(folder, **files)
    return [str(problem) for problem in refused.value.problems]


def test_every_field_is_read(tmp_path: Path) -> None:
    key, password = secret(tmp_path / "lab.key"), secret(tmp_path / "lab.password")
    lab = cluster(tmp_path, boxes=EVERYTHING)
    common = Login("gpu1", 2200, "ubuntu", str(key), str(password), "gate.example.org,li@inner:23", HostKeys.FIRST_USE)
    on_node = {"interface": "ib0", "python": "/usr/bin/python3.11", "root": "/var/lib/muster-node"}
    gpu1, gpu2, third, fourth = ssh_nodes(lab)
    assert gpu1 == SshNode("gpu1", common, **on_node)  # type: ignore[arg-type]
    assert (gpu1.file, gpu1.line) == ("boxes.yaml", 16)
    assert (gpu2.name, gpu2.login.host, gpu2.login.user, gpu2.login.host_key) == ("gpu2", "10.0.0.2", "alice", KEY)
    assert (gpu2.address, gpu2.labels, gpu2.claims) == ("10.1.0.2", {"rack": "a"}, Claims(4, ("RTX3090",) * 4))
    assert (third.name, third.login.host, third.login.user, third.login.port) == ("10.0.0.3", "10.0.0.3", "li", 2222)
    assert (fourth.name, fourth.root, fourth.line) == ("gpu4.example.org", "tasks", 20)
    assert (fourth.login.jump, fourth.login.password_file, fourth.login.key_file) == (None, None, str(key))
    assert lab.folders == (
        Folder("data", "/home/lab/data"),
        Folder("envs", "/home/lab/envs", shared=False, read_only=True, users=("li",), groups=("lab",)),
    )
    assert (lab.name, lab.backend, lab.description, lab.file, lab.line) == ("lab", "ssh", "six boxes", "boxes.yaml", 2)
    assert (lab.conda_root, lab.options, lab.lost_after_s) == ("/home/lab/envs/miniconda3", SshOptions(5), 120)


def test_a_list_of_names_is_enough(tmp_path: Path) -> None:
    pool = cluster(tmp_path, pool="backend: ssh\nnodes: [gpu1]\n")
    assert pool.name == "pool"
    assert pool.nodes == (SshNode("gpu1", Login("gpu1")),)


def test_an_address_of_six_needs_a_name(tmp_path: Path) -> None:
    assert told(tmp_path, a="backend: ssh\nnodes:\n- '[fe80::1]:2022'\n- {name: six, host: 'fe80::2'}\n") == [
        "a.yaml, line 3: nodes[0].name: the host 'fe80::1' cannot be the node's name too (give it a `name`: letters,"
        " digits, '.', '_' and '-', a letter or digit at both ends)"
    ]


def test_the_servers_own_machine_may_have_folders_and_conda(tmp_path: Path) -> None:
    own = cluster(tmp_path, machine="backend: local\nfolders: {data: /data}\nconda: /opt/conda\n")
    assert own == PhysicalCluster("local", "local", folders=(Folder("data", "/data"),), conda="/opt/conda")
    assert told(tmp_path, machine="name: mine\nbackend: local\n") == [
        "machine.yaml, line 1: name: is 'mine' (the server's own machine is the cluster local: leave the name out)"
    ]
    assert told(tmp_path, machine="backend: local\nnodes: [gpu1]\n") == [
        "machine.yaml, line 2: nodes: is for clusters with backend: ssh (local is the server's own machine)"
    ]


def test_a_server_without_a_machine_of_its_own_has_no_local_cluster(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("backend: local\n")
    with pytest.raises(Invalid) as refused:
        cluster_folder(tmp_path, "lab").read()
    assert [str(problem) for problem in refused.value.problems] == [
        "a.yaml, line 1: backend: this server has no cluster local (remove the file)"
    ]


def test_others_may_name_a_cluster_that_a_later_file_defines(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        a="name: vision\ncluster: lab\n",
        b="cluster: lab\nnodes:\n- {name: gpu1, labels: {rack: a}}\n- {name: gpu2, host: 10.0.0.2, port: 24}\n- gpu3\n",
        z="name: lab\nbackend: ssh\ndefaults: {user: li}\nnodes: [gpu1]\n",
    )
    assert found.virtual[0].cluster == "lab"
    assert found.nodes == (NodeSettings("gpu1", "lab", {"rack": "a"}, 3, "b.yaml"),)
    assert [(node.name, node.login, node.file, node.line) for node in ssh_nodes(found.physical[0])] == [
        ("gpu1", Login("gpu1", user="li"), "z.yaml", 4),
        ("gpu2", Login("10.0.0.2", 24, "li"), "b.yaml", 4),
        ("gpu3", Login("gpu3", user="li"), "b.yaml", 5),
    ]


WRONG: Mapping[str, tuple[str, str]] = {
    "backend": (
        "backend: torque\n",
        "line 1: backend: there is no backend 'torque' (known backends: kubernetes, local, muster, slurm, ssh)",
    ),
    "name": (
        "name: six boxes\nbackend: ssh\n",
        "line 1: name: 'six boxes' is not a valid name (letters, digits, '.', '_' and '-', at most 63, a letter or"
        " digit at both ends)",
    ),
    "key": ("backend: ssh\nnode: [a]\n", "line 2: node: unknown key (did you mean nodes?)"),
    "defaults": ("backend: ssh\ndefaults:\n  uses: li\n", "line 3: defaults.uses: unknown key (did you mean user?)"),
    "node key": ("backend: ssh\nnodes:\n- hots: a\n", "line 3: nodes[0].hots: unknown key (did you mean host?)"),
    "folder key": (
        "backend: ssh\nfolders:\n  data:\n    path: /d\n    readonly: true\n",
        "line 5: folders.data.readonly: unknown key (did you mean readOnly?)",
    ),
    "node shape": (
        "backend: ssh\nnodes:\n- 7\n",
        "line 3: nodes[0]: is 7 (a mapping with user, port, keyFile, passwordFile, jump, hostKeys, interface, python,"
        " root, name, host, hostKey, address, labels, gpus, gpuModels, devices)",
    ),
    "nodes": ("backend: ssh\nnodes: gpu1\n", "line 2: nodes: is 'gpu1' (expected a list)"),
    "nameless": (
        "backend: ssh\nnodes:\n- {user: li}\n",
        "line 3: nodes[0].name: is required (a `name`, a `host` or both)",
    ),
    "endpoint": (
        "backend: ssh\nnodes: [a, 'b c']\n",
        "line 2: nodes[1]: 'b c' cannot be read (expected [user@]host[:port])",
    ),
    "option": (
        "backend: ssh\nnodes: [{name: a, host: -oProxyCommand=x}]\n",
        "line 2: nodes[0].host: '-oProxyCommand=x' cannot be read (expected a host name or an address, without user"
        " and port)",
    ),
    "user": (
        "backend: ssh\ndefaults: {user: -l}\n",
        "line 2: defaults.user: '-l' cannot be read (expected the name of an account)",
    ),
    "port": (
        "backend: ssh\nnodes: ['a:70000']\n",
        "line 2: nodes[0]: input should be less than or equal to 65535 (got 70000)",
    ),
    "jump": (
        "backend: ssh\ndefaults: {jump: 'a,,b'}\n",
        "line 2: defaults.jump: 'a,,b' cannot be read (expected [user@]host[:port])",
    ),
    "host keys": (
        "backend: ssh\ndefaults: {hostKeys: none}\n",
        "line 2: defaults.hostKeys: is 'none' (one of 'known' or 'first-use')",
    ),
    "host key": (
        f"backend: ssh\nnodes: [{{name: a, hostKey: 'a {KEY[:20]}'}}]\n",
        f"line 2: nodes[0].hostKey: 'a {KEY[:20]}' cannot be read (expected a key as `ssh-keyscan HOST` prints it,"
        " without the host: ssh-ed25519 AAAA…)",
    ),
    "interface": (
        "backend: ssh\ndefaults: {interface: 'ib0 ib1'}\n",
        "line 2: defaults.interface: 'ib0 ib1' cannot be read (expected a network interface such as ib0)",
    ),
    "root": (
        "backend: ssh\ndefaults: {root: ../x}\n",
        "line 2: defaults.root: '../x' cannot be read (expected an absolute path, or one in the account's home)",
    ),
    "reserved label": (
        "backend: ssh\nnodes: [{name: a, labels: {muster/conda: x}}]\n",
        "line 2: nodes[0].labels.muster/conda: 'muster/conda' cannot be read (expected another name: muster/… says"
        " what Muster found on a node)",
    ),
    "folder path": (
        "backend: ssh\nfolders:\n  data: lab/data\n",
        "line 3: folders.data: 'lab/data' cannot be read (expected an absolute path without ..)",
    ),
    "folder name": (
        "backend: ssh\nfolders: {a/b: /d}\n",
        "line 2: folders.a/b: 'a/b' cannot be read (expected letters, digits, '.', '_' and '-', a letter or digit at"
        " both ends, at most 63)",
    ),
    "conda": (
        "backend: ssh\nfolders: {data: /d}\nconda: envs/conda\n",
        "line 3: conda: there is no folder 'envs' (an absolute path, or one in a folder; folders: data)",
    ),
    "times": (
        "backend: ssh\nunreachableAfter: 20s\nlostAfter: 10s\n",
        "line 3: lostAfter: is less than unreachableAfter (a node is unreachable before its tasks are lost)",
    ),
    "no time": (
        "backend: ssh\nunreachableAfter: 0s\n",
        "line 2: unreachableAfter: must be more than 0 (a node is silent between any two heartbeats)",
    ),
    "twice": (
        "backend: ssh\nnodes:\n- gpu1\n- {name: gpu1, host: b}\n",
        "line 4: nodes: gpu1 is given twice (also in a.yaml, line 3)",
    ),
    "programs outside": (
        "name: elsewhere\nbackend: ssh\n",
        "line 1: name: elsewhere stands for programs outside of Muster that report to it (choose another name)",
    ),
    "a price of less than nothing": (
        "backend: ssh\ngpuHourPrice: -1\n",
        "line 2: gpuHourPrice: input should be greater than or equal to 0 (got -1)",
    ),
    "servers own": (
        "name: local\nbackend: ssh\n",
        "line 1: name: local is a built-in cluster (choose another name)",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_told_with_its_line_and_what_would_do(tmp_path: Path, mistake: str) -> None:
    text, expected = WRONG[mistake]
    assert told(tmp_path, a=text) == [f"a.yaml, {expected}"]


def test_names_of_clusters_do_not_clash(tmp_path: Path) -> None:
    assert told(tmp_path, a="backend: ssh\nname: lab\n", b="name: lab\n---\nbackend: ssh\nname: lab\n") == [
        "b.yaml, line 4: name: lab is given twice (also in a.yaml, line 2)",
        "b.yaml, line 1: name: lab is the name of a physical cluster (choose another name)",
    ]


def test_a_file_that_cannot_be_a_name_needs_one(tmp_path: Path) -> None:
    (tmp_path / "six boxes.yaml").write_text("backend: ssh\n")
    assert told(tmp_path) == [
        "six boxes.yaml, line 1: the file's name 'six boxes' is not a valid name of a cluster (give it a `name`)"
    ]


@pytest.mark.parametrize("place", ["defaults: {password: s3cr3t}", "nodes: [{name: a, password: s3cr3t}]"])
def test_a_password_in_the_file_is_refused_and_not_repeated(tmp_path: Path, place: str) -> None:
    (problem,) = told(tmp_path, a=f"backend: ssh\n{place}\n")
    assert "is a secret, and others may read this file" in problem
    assert "passwordFile" in problem
    assert "s3cr3t" not in problem


def test_a_password_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    (problem,) = told(tmp_path, a="backend: ssh\ndefaults: [{password: s3cr3t}]\n")
    assert "s3cr3t" not in problem


@pytest.mark.parametrize("key", ["keyFile", "passwordFile"])
def test_a_secret_must_be_there_and_for_nobody_else_to_read(tmp_path: Path, key: str) -> None:
    text = f"backend: ssh\nnodes:\n- name: a\n  {key}: word\n"
    path = tmp_path / "word"
    missing = f"word cannot be read: {os.strerror(2)} (it is a file on the server)"
    assert told(tmp_path, a=text) == [f"a.yaml, line 4: nodes[0].{key}: {missing}"]
    secret(path, 0o640)
    assert told(tmp_path, a=text) == [
        f"a.yaml, line 4: nodes[0].{key}: others may read word (chmod 600 {path})",
    ]
    path.chmod(0o600)
    assert cluster(tmp_path, a=text).nodes[0].name == "a"
    path.write_text("")
    assert told(tmp_path, a=text) == [f"a.yaml, line 4: nodes[0].{key}: word is empty"]
    path.unlink()
    path.mkdir()
    assert told(tmp_path, a=text) == [f"a.yaml, line 4: nodes[0].{key}: word is no file (it is a file on the server)"]


def test_the_home_of_nobody_is_a_problem(tmp_path: Path) -> None:
    (problem,) = told(tmp_path, a="backend: ssh\ndefaults: {keyFile: ~nobodyhasthis/key}\n")
    assert problem.startswith("a.yaml, line 2: defaults.keyFile: ~nobodyhasthis/key cannot be read")


def test_the_list_of_the_original_system_is_read_as_it_is(tmp_path: Path) -> None:
    psw = secret(tmp_path / "psw")
    (tmp_path / "gpu_slaver_info.json").write_text(SLAVERS)
    lab = cluster(
        tmp_path,
        lab="backend: ssh\ndefaults: {passwordFile: psw, user: other, port: 24}\nnodesFile: gpu_slaver_info.json\n",
    )
    assert lab.nodes == (
        SshNode(
            "n1",
            Login("10.0.0.11", 24, "lab", None, str(psw)),
            claims=Claims(2, ("RTX3090", "RTX3090")),
        ),
        SshNode(
            "n2",
            Login("10.0.0.12", 24, "lab", None, str(psw)),
            claims=Claims(0),
        ),
    )
    assert [(node.file, node.line) for node in lab.nodes] == [
        ("gpu_slaver_info.json", 2),
        ("gpu_slaver_info.json", 3),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[\n {"name": "a" "b"}\n]',
            "list.json, line 2: is not JSON: expecting ',' delimiter (a list of objects with name, ip, user_name,"
            " gpu_count and gpu_info)",
        ),
        (
            '{"name": "a"}',
            "list.json, line 1: is not a list (a list of objects with name, ip, user_name, gpu_count and gpu_info)",
        ),
        ('[\n\t{"name": "a",\n\t"ip": 7}]', "list.json, line 3: [0].ip: is 7 (expected text)"),
        ('[\n{"name": "a", "ip": "b"},\n{"ip": "c"}]', "list.json, line 3: [1].name: is required"),
        (
            '[{"name": "a", "ip": "b", "gpu_cout": 2}]',
            "list.json, line 1: [0].gpu_cout: unknown key (did you mean gpu_count?)",
        ),
        (
            '[{"name": "a", "ip": "b"},\n{"name": "a", "ip": "c"}]',
            "list.json, line 2: nodes: a is given twice (also in list.json, line 1)",
        ),
        ('[{"name": "x", "ip": "b"}]', "list.json, line 1: nodes: x is given twice (also in a.yaml, line 2)"),
        ("[[[" * 40_000, "list.json: is not JSON that can be read"),
        (
            '[\n{"name": "a", "ip": "b"},\n]',
            "list.json, line 3: is not JSON: there is a comma too many before ] (a list of",
        ),
        ('[{"name": "a",}]', "list.json, line 1: is not JSON: there is a comma too many before } (a list of"),
        ('[\n# mine\n{"name": "a"}]', "list.json, line 2: is not JSON, which has no comments (a list of"),
        (
            "[{'name': 'a'}]",
            "list.json, line 1: is not JSON: names and texts are written with \", not with ' (a list of",
        ),
        ('[\n{"name": "a", "ip": "b", "name": "c"}]', "list.json, line 2: [0].name: is given twice"),
        ('[{"name": "a", "ip": "10.0.0.1:22"}]', "list.json, line 1: [0].ip: '10.0.0.1:22' cannot be read (expected a"),
        ('\ufeff[\n{"name": "a"}]', "list.json, line 2: [0].ip: is required"),
        ('[[{"psw": "s3cr3t"}]]', "list.json, line 1: [0]: is [{'psw': '…'}] (a mapping with"),
        ("", "a.yaml, line 3: nodesFile: list.json is empty (write it again, or remove it)"),
    ],
)
def test_a_wrong_list_is_told_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "list.json").write_text(text)
    (problem,) = told(tmp_path, a="backend: ssh\nnodes: [x]\nnodesFile: list.json\n")
    assert problem.startswith(expected)


def test_a_list_that_is_not_there_is_told_with_the_line_that_names_it(tmp_path: Path) -> None:
    expected = f"a.yaml, line 2: nodesFile: list.json cannot be read: {os.strerror(2)}"
    assert told(tmp_path, a="backend: ssh\nnodesFile: list.json\n") == [expected]


@pytest.mark.parametrize("name", ["list.json", "b.yaml"])
def test_what_is_no_file_is_told_and_never_waited_for(tmp_path: Path, name: str) -> None:
    text = "backend: ssh\nnodesFile: list.json\n"
    path = tmp_path / name
    (tmp_path / "list.json").write_text("[]")
    path.unlink(missing_ok=True)
    place = "a.yaml, line 2: nodesFile: list.json" if name == "list.json" else "b.yaml:"
    os.mkfifo(path)
    assert told(tmp_path, a=text) == [f"{place} is not a regular file (remove it, or give it another name)"]
    path.unlink()
    path.symlink_to("nowhere")
    assert told(tmp_path, a=text) == [f"{place} is a broken link (fix the link, or remove it)"]
    path.unlink()
    path.write_bytes("[]".encode("utf-16"))
    assert told(tmp_path, a=text) == [f"{place} is not UTF-8 text (save it as UTF-8)"]


def test_what_a_link_leads_to_is_looked_at_too(tmp_path: Path) -> None:
    folder = tmp_path / "clusters.d"
    folder.mkdir()
    (folder / "a.yaml").symlink_to(tmp_path / "a.yaml")
    (folder / "b.yaml").write_text("backend: ssh\n")
    assert cluster_folder(folder).files_beside() == {folder / "a.yaml"}


def test_files_beside_the_folder_are_known_even_when_they_are_missing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "backend: ssh\nnodesFile: /list.json\ndefaults: {keyFile: key}\nnodes: [{passwordFile: p}]\n"
    )
    (tmp_path / "b.yaml").write_text("cluster: a\nnodes: [{name: x, keyFile: ~nobodyhasthis/key}, 7]\n")
    (tmp_path / "c.yaml").write_text("[")
    folder = cluster_folder(tmp_path)
    assert folder.files_beside() == {Path("/list.json"), tmp_path / "key", tmp_path / "p"}


KEYS = st.sampled_from(
    [field.alias or name for model in (SshIn, SshNodeIn, FolderIn) for name, field in model.model_fields.items()]
    + ["cluster", "password"]
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["ssh", "local"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=4)
)


@given(
    st.dictionaries(KEYS, VALUES, max_size=6),
    st.fixed_dictionaries({}, optional={"backend": st.sampled_from(["ssh", "local"]), "nodes": st.lists(VALUES)}),
    VALUES,
)
def test_whatever_is_written_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, some: dict[str, Any], more: dict[str, Any], listed: Any
) -> None:
    folder = tmp_path_factory.mktemp("clusters")
    (folder / "list.json").write_text(json.dumps(listed))
    (folder / "lab.yaml").write_text(yaml.safe_dump({"backend": "ssh", "nodesFile": "list.json"}))
    try:
        read(folder, any=yaml.safe_dump({**some, **more}, allow_unicode=True), members="cluster: any\nnodes: [x]\n")
    except Invalid as refused:
        assert all(problem.file for problem in refused.problems)  # noqa: PT017


def test_storages_are_names_for_folders_and_what_is_in_them(tmp_path: Path) -> None:
    text = "backend: local\nfolders: {data: /srv/data}\nstorages: {team-nfs: data/teams/nlp/, data: data}\n"
    own = cluster(tmp_path, machine=text)
    assert own.storage_source("team-nfs") == "data/teams/nlp"
    assert own.storage_source("data") == "data"
    assert own.storage_source("other") is None


def test_a_storage_that_leads_nowhere_is_a_mistake(tmp_path: Path) -> None:
    text = "backend: local\nfolders: {data: /srv/data}\nstorages:\n  a: date/x\n  b: /srv/data\n"
    assert told(tmp_path, machine=text) == [
        "machine.yaml, line 4: storages.a: there is no folder 'date' (folders: data)",
        "machine.yaml, line 5: storages.b: is an absolute path (begin with the name of a folder; folders: data)",
    ]
    (problem,) = told(tmp_path, machine="backend: local\nfolders: {data: /srv}\nstorages: {a: data/../x}\n")
    assert "expected a path without .." in problem
