"""The certificates, tokens and kubeconfig files of a test cluster."""

import json
import secrets

from scripts.kube.layout import API_SERVICE_ADDRESS, NODES, Layout
from scripts.kube.processes import run

_USERS = {
    "admin": ("admin", "system:masters"),
    "operator": ("operator", "system:masters"),
    "dns": ("dns", "system:masters"),
    "kwok": ("kwok", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    **{name: (f"system:node:{name}", "system:nodes") for name in NODES},
}
"""User of a kubeconfig file -> the name and the group that the API server sees."""
COMPONENTS = [*(name for name, _ in _USERS.values() if name.startswith("system:")), "dns", "kwok"]


def make_credentials(layout: Layout) -> None:
    """Make what is missing. The last file written says that the others are whole."""
    done = layout.pki / "done"
    if done.exists():
        return
    layout.pki.mkdir(parents=True, exist_ok=True)
    layout.pki.chmod(0o700)
    _certificates(layout)
    tokens = {user: secrets.token_hex(16) for user in _USERS}
    (layout.pki / "tokens.csv").write_text(
        "".join(f'{tokens[user]},{name},{user},"{group}"\n' for user, (name, group) in _USERS.items())
    )
    for user, token in tokens.items():
        layout.kubeconfig_of(user).write_text(_kubeconfig(layout, token))
    done.touch()


def admin_token(layout: Layout) -> str:
    token: str = json.loads(layout.kubeconfig.read_text())["users"][0]["user"]["token"]
    return token


def _certificates(layout: Layout) -> None:
    pki = layout.pki
    addresses = ",".join(f"IP:{address}" for address in ("127.0.0.1", layout.address, API_SERVICE_ADDRESS))
    names = ",".join(f"DNS:{name}" for name in ("kubernetes.default.svc", "kubernetes.default", "kubernetes"))
    (pki / "names").write_text(f"subjectAltName={names},{addresses}\n")
    new_key = ("-newkey", "rsa:2048", "-nodes")
    run("openssl", "req", "-x509", *new_key, "-days", "30", "-keyout", pki / "ca.key", "-out", pki / "ca.crt",
        "-subj", "/CN=muster-test-ca")  # fmt: skip
    run("openssl", "req", *new_key, "-keyout", pki / "api.key", "-out", pki / "api.csr", "-subj", "/CN=kube-apiserver")
    run("openssl", "x509", "-req", "-in", pki / "api.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key",
        "-CAcreateserial", "-days", "30", "-extfile", pki / "names", "-out", pki / "api.crt")  # fmt: skip
    run("openssl", "genrsa", "-out", pki / "accounts.key", "2048")
    run("openssl", "rsa", "-in", pki / "accounts.key", "-pubout", "-out", pki / "accounts.pub")


def _kubeconfig(layout: Layout, token: str) -> str:
    cluster = {"server": layout.api_server, "certificate-authority": str(layout.pki / "ca.crt")}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "muster-test",
            "contexts": [{"name": "muster-test", "context": {"cluster": "muster-test", "user": "user"}}],
            "clusters": [{"name": "muster-test", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
        }
    )
