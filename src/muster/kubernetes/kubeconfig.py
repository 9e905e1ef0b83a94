"""Kubeconfig files: where an API server is, and as whom we speak to it.

`lightkube` reads them. What it passes over in silence and what would change where requests go, or as whom, is refused
here by name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import yaml
from lightkube.config.client_adapter import user_auth
from lightkube.config.kubeconfig import SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from muster.domain.errors import Invalid
from muster.kubernetes.exec_plugin import ExecPlugin

UNREADABLE = (
    ConfigError,
    OSError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    yaml.YAMLError,
)
"""What reading a file raises that is no kubeconfig."""
_OWN_ACCOUNT = "use a token or a certificate of the account itself"
_OF_CLUSTERS: Mapping[str, str] = {
    "proxy-url": "use an address of the API server that needs no proxy, such as that of a port that is forwarded",
    "tls-server-name": "write the name that is in the server's certificate into `server`",
}
_OF_USERS: Mapping[str, str] = {
    "as": _OWN_ACCOUNT,
    "as-uid": _OWN_ACCOUNT,
    "as-groups": _OWN_ACCOUNT,
    "as-user-extra": _OWN_ACCOUNT,
    "auth-provider": "use an exec plugin, a token or a client certificate",
}


def load_config(kubeconfig: Path | None, context: str | None) -> SingleConfig:
    """Without a file, the account of the pod in which we run is used, then $KUBECONFIG, then ~/.kube/config."""
    if kubeconfig is None and context is None and Path(SERVICE_ACCOUNT, "token").is_file():
        config = KubeConfig.from_service_account().get()
    else:
        first = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or "~/.kube/config"
        config = _read(Path(kubeconfig or first).expanduser(), context)
    if config is None or not config.cluster.server:
        raise ConfigError("it names no server")
    return config


def described(kubeconfig: Path | None, context: str | None) -> str:
    """Which file, context and API server `load_config` chooses."""
    config = load_config(kubeconfig, context)
    if config.fname is None:
        return f"the account of this pod, API server {config.cluster.server}"
    found = "" if kubeconfig is not None else " (the cluster's file names no `kubeconfig`, and this is no pod)"
    return f"{config.fname}{found}, context {config.context_name}, API server {config.cluster.server}"


def authentication(config: SingleConfig) -> httpx2.Auth | None:
    user = config.user
    has_token = user is not None and (user.token is not None or user.token_file is not None)
    if user is None or user.exec is None or has_token:
        return user_auth(user)
    return ExecPlugin(
        api_version=user.exec.apiVersion,
        command=(_program(config, user.exec.command), *(user.exec.args or ())),
        variables={one.name: one.value for one in user.exec.env or ()},
    )


def _program(config: SingleConfig, command: str) -> str:
    """A path is relative to the file, a name is looked up in PATH."""
    return str(config.abs_file(command)) if os.sep in command else command


def _read(file: Path, context: str | None) -> SingleConfig | None:
    if not file.is_file():
        raise ConfigError(f"Configuration file {file} not found")
    told = yaml.safe_load(file.read_text(encoding="utf-8"))
    config = KubeConfig.from_dict(told, fname=file).get(context)
    if config is not None:
        chosen = config.context
        _refuse_unsupported(file, f"cluster {chosen.cluster}", _entry(told, "cluster", chosen.cluster), _OF_CLUSTERS)
        _refuse_unsupported(file, f"user {chosen.user}", _entry(told, "user", chosen.user), _OF_USERS)
    return config


def _entry(told: Mapping[str, Any], kind: str, name: str | None) -> Mapping[str, Any]:
    return next((one[kind] or {} for one in told.get(f"{kind}s") or () if one["name"] == name), {})


def _refuse_unsupported(file: Path, whose: str, entry: Mapping[str, Any], unsupported: Mapping[str, str]) -> None:
    for name, hint in unsupported.items():
        if entry.get(name):
            raise Invalid(f"{file} cannot be used: {whose} has {name}, which Muster does not support", hint=hint)
    if (entry.get("exec") or {}).get("interactiveMode") == "Always":
        raise Invalid(
            f"{file} cannot be used: {whose} has an exec plugin with interactiveMode Always, and there is no terminal",
            hint="use a plugin that asks nobody",
        )
