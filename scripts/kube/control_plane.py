"""etcd, the API server, the controllers, the scheduler and DNS of a test cluster, as processes of this machine."""

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from scripts.kube import processes
from scripts.kube.credentials import COMPONENTS, admin_token
from scripts.kube.layout import DNS_SERVICE_ADDRESS, SERVICE_RANGE, Layout

_GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true"
_START_TIMEOUT_S = 180
_DNS_PORT = 10053
# A node whose kubelet has been silent this long is lost. Its pods are evicted a little later.
_NODE_SILENCE = "20s"
_EVICTION_DELAY_S = 3


def start_control_plane(layout: Layout) -> None:
    start_storage(layout)
    _start_controllers(layout)


def start_storage(layout: Layout) -> None:
    """Start etcd and the API server, whichever does not run, until both serve.

    One that was killed a moment ago may still hold its port, and then the new one ends at once."""

    def serve() -> bool:
        _start_etcd(layout)
        _start_api_server(layout)
        return api_server_ready(layout)

    processes.wait_until(serve, _START_TIMEOUT_S, "the API server to be ready")


def _start_etcd(layout: Layout) -> None:
    clients, peers = f"http://{layout.loopback}:2379", f"http://{layout.loopback}:2380"
    processes.start(
        layout,
        "etcd",
        [
            layout.program("etcd"),
            f"--data-dir={layout.root / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        ],
    )


def _start_api_server(layout: Layout) -> None:
    pki = layout.pki
    processes.start(
        layout,
        "apiserver",
        [
            layout.program("kube-apiserver"),
            f"--bind-address={layout.address}",
            f"--advertise-address={layout.address}",
            "--secure-port=6443",
            f"--etcd-servers=http://{layout.loopback}:2379",
            f"--tls-cert-file={pki / 'api.crt'}",
            f"--tls-private-key-file={pki / 'api.key'}",
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--token-auth-file={pki / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={pki / 'accounts.key'}",
            f"--service-account-key-file={pki / 'accounts.pub'}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
            f"--default-not-ready-toleration-seconds={_EVICTION_DELAY_S}",
            f"--default-unreachable-toleration-seconds={_EVICTION_DELAY_S}",
            f"--audit-policy-file={_audit_policy(layout)}",
            f"--audit-log-path={layout.audit_log}",
            _GATES,
            "--runtime-config=scheduling.k8s.io/v1alpha2=true",
        ],
    )


def api_server_ready(layout: Layout) -> bool:
    asked = urllib.request.Request(
        f"{layout.api_server}/readyz", headers={"Authorization": f"Bearer {admin_token(layout)}"}
    )
    try:
        trusted = ssl.create_default_context(cafile=str(layout.pki / "ca.crt"))
        with urllib.request.urlopen(asked, timeout=10, context=trusted) as answer:
            return bool(answer.read().startswith(b"ok"))
    except (OSError, urllib.error.URLError):
        return False


def start_dns(layout: Layout) -> None:
    """CoreDNS runs beside the nodes, not on one of them: names still resolve when a test kills a node."""
    corefile = layout.root / "Corefile"
    corefile.write_text(
        f".:{_DNS_PORT} {{\n"
        f"    bind {layout.address}\n"
        "    errors\n"
        "    kubernetes cluster.local in-addr.arpa {\n"
        f"        kubeconfig {layout.kubeconfig_of('dns')}\n"
        "        pods insecure\n"
        "    }\n"
        "    cache 1\n"
        "}\n"
    )
    processes.start(layout, "dns", [layout.program("coredns"), f"-conf={corefile}"])


def dns_objects(layout: Layout) -> list[dict[str, object]]:
    """The Service that pods ask for names, with CoreDNS as its only endpoint."""
    protocols = {"dns": "UDP", "dns-tcp": "TCP"}
    place = {"namespace": "kube-system", "name": "kube-dns"}
    service: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": place,
        "spec": {
            "clusterIP": DNS_SERVICE_ADDRESS,
            "ports": [{"name": name, "protocol": protocol, "port": 53} for name, protocol in protocols.items()],
        },
    }
    endpoints: dict[str, object] = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**place, "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [layout.address]}],
        "ports": [{"name": name, "protocol": protocol, "port": _DNS_PORT} for name, protocol in protocols.items()],
    }
    return [service, endpoints]


def _start_controllers(layout: Layout) -> None:
    pki = layout.pki
    processes.start(
        layout,
        "controller-manager",
        [
            layout.program("kube-controller-manager"),
            *_client_options(layout, "controller-manager"),
            "--use-service-account-credentials=true",
            f"--root-ca-file={pki / 'ca.crt'}",
            f"--service-account-private-key-file={pki / 'accounts.key'}",
            f"--cluster-signing-cert-file={pki / 'ca.crt'}",
            f"--cluster-signing-key-file={pki / 'ca.key'}",
            f"--node-monitor-grace-period={_NODE_SILENCE}",
            "--node-monitor-period=2s",
            _GATES,
        ],
    )
    processes.start(
        layout, "scheduler", [layout.program("kube-scheduler"), *_client_options(layout, "scheduler"), _GATES]
    )


def _client_options(layout: Layout, user: str) -> list[str]:
    kubeconfig = layout.kubeconfig_of(user)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={layout.loopback}",
        f"--cert-dir={layout.root / user}",
        "--leader-elect=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
    ]


def _audit_policy(layout: Layout) -> Path:
    """Log the writes of everybody but Kubernetes' own components: what an operator costs the API server. Of service
    accounts the reads are logged, too: what an operator's role must allow."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "None", "users": [*COMPONENTS, "system:apiserver"]},
            {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
            {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
            {"level": "None", "verbs": ["get", "list", "watch"]},
            {"level": "Metadata"},
        ],
    }
    path = layout.root / "audit-policy.json"
    path.write_text(json.dumps(policy))
    return path
