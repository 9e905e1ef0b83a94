"""The keys of `cluster_config(...)`, and what becomes of each: a flag, a variable, a mount, a secret, or a line that
says that it has no meaning here.

The original copied data from HDFS and models to it. Muster does neither. What a hook or a data provider needs for it
are variables, and the login to HDFS is a secret of the job.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.api.cluster_train import KEYS
from muster.wire.dialects.translation import Translator

LOGIN = "cluster-train.fs-ugi"
"""The name of the secret with the login to HDFS."""
OUTPUT = "output"
_NO_MEANING = {
    "force_reuse_output_path": "every job has outputs of its own, and none is overwritten",
    "pserver_model_dir": "parameter servers load no models here; --init_model_path lets the trainers do it",
    "pserver_model_pass": "parameter servers load no models here; --init_model_path lets the trainers do it",
    "enable_predict_output": "no test process runs; --predict_output_dir DIR is passed on to paddle train",
    "model_path": "no test process runs",
    "port": "Muster gives each parameter server a free port",
    "ports_num": "Muster gives each parameter server one port",
    "mail_address": "nobody is mailed because of a slow node",
}
_NOTHING = (None, False, "", "0", "false", "False")
_DERIVED = {"train_data_path": "train", "test_data_path": "test", "output_path": "output"}
_DERIVED_META = {"train_meta_data_path": "train_meta_dir", "test_meta_data_path": "test_meta_dir"}
_DATA = ("train_data_path", "test_data_path", "train_meta_data_path", "test_meta_data_path")
_ELSEWHERE = re.compile(r"[A-Za-z][\w+.-]*://")


@dataclass
class Settings:
    """What the translation of the whole job needs of them."""

    of_trainers: dict[str, str] = field(default_factory=dict)
    of_servers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def put_cluster_config(into: Translator, given: Mapping[str, Any]) -> Settings:
    into.refuse_unknown(given, ("cluster_config",), KEYS)
    return _ClusterConfig(into, given).put()


class _ClusterConfig:
    def __init__(self, into: Translator, given: Mapping[str, Any]) -> None:
        self._into = into
        self._given = {key: value for key, value in given.items() if key in KEYS and value is not None}
        self._found = Settings()

    def put(self) -> Settings:
        self._login()
        self._paths()
        self._flags()
        for key, why in _NO_MEANING.items():
            if self._given.get(key) not in _NOTHING:
                self._into.warn((key,), f"has no effect: {why}")
        return self._found

    def _login(self) -> None:
        """The value of fs_ugi must be in no message, and no part of the spec."""
        if name := self._text("fs_name"):
            self._found.variables["FS_NAME"] = name
            self._into.warn(
                ("fs_name",), "Muster copies nothing from HDFS or to it; before_hook.sh and trainers have FS_NAME"
            )
        login = self._given.get("fs_ugi")
        if login in _NOTHING:
            return
        if not isinstance(login, str):
            self._into.refuse(("fs_ugi",), "is no text", "user,password")
            return
        self._into.carry(LOGIN, login)
        self._into.append(("secrets",), {"name": LOGIN, "env": "FS_UGI"}, ("fs_ugi",))
        self._into.warn(("fs_ugi",), "is a secret of the job; before_hook.sh and trainers have it as FS_UGI")

    def _paths(self) -> None:
        paths = self._derived() | {key: self._text(key) for key in (*_DATA, "output_path") if self._text(key)}
        for key in _DATA:
            if path := paths.get(key):
                self._data(key, path)
        if output := paths.get("output_path"):
            self._found.variables["OUTPUT_PATH"] = output
            self._into.warn(
                ("output_path",), "nothing is written there by Muster; `muster outputs JOB` has what trainers save"
            )

    def _derived(self) -> dict[str, str]:
        folder = self._text("work_dir").rstrip("/")
        if not folder:
            return {}
        names = _DERIVED | (_DERIVED_META if self._truth("has_meta_data") else {})
        return {key: f"{folder}/{name}" for key, name in names.items()}

    def _data(self, key: str, path: str) -> None:
        """Data of a folder of the cluster is mounted where trainers look for it. Data of HDFS stays where it is."""
        variable = key.upper()
        if "fs_name" in self._given or "fs_ugi" in self._given or _ELSEWHERE.match(path):
            self._found.variables[variable] = path
            self._into.warn((key,), f"is not fetched; before_hook.sh can do it, and has it as {variable}")
            return
        target = key.removesuffix("_path")
        self._found.variables[variable] = target
        self._into.append(("mounts",), {"source": path, "target": target, "readOnly": True}, (key,))

    def _flags(self) -> None:
        trainers, servers = self._found.of_trainers, self._found.of_servers
        save_dir = self._text("save_dir") or OUTPUT
        trainers["save_dir"] = save_dir
        if save_dir == OUTPUT:
            self._into.put(("outputs",), [f"{OUTPUT}/"], ("save_dir",))
        else:
            self._into.warn(("save_dir",), f"only {OUTPUT!r} is collected, as in the original")
        if path := self._text("init_model_path"):
            trainers["init_model_path"] = path
        if self._truth("loadsave_parameters_in_pserver"):
            trainers["loadsave_parameters_in_pserver"] = "1"
        if self._truth("use_remote_sparse"):
            trainers["ports_num_for_sparse"] = servers["ports_num_for_sparse"] = "1"
        if comment := self._text("comment"):
            trainers["comment"] = servers["comment"] = comment

    def _text(self, key: str) -> str:
        value = self._given.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self._into.refuse((key,), f"is {value!r}"[:200], "a text")
        return ""

    def _truth(self, key: str) -> bool:
        value = self._given.get(key)
        if value in _NOTHING or value == 0:
            return False
        if value in (True, 1, "1", "true", "True"):
            return True
        self._into.refuse((key,), f"is {value!r}"[:200], "True or False")
        return False
