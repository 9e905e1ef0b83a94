"""The real nodes of a test cluster: containerd, a kubelet and kube-proxy in namespaces of their own.

A node's network, mount, process and host name namespaces hang on one process. Killing it ends the node with all its
pods at once, as a power cut does; starting it again finds the node's disk as it was.
"""

import json
from pathlib import Path

from scripts.kube import processes
from scripts.kube.images import PAUSE_IMAGE
from scripts.kube.layout import DNS_SERVICE_ADDRESS, NODES, Layout, NodeLayout
from scripts.kube.processes import run

_DISK = {
    "kubelet": "/var/lib/kubelet",
    "containerd": "/var/lib/containerd",
    "run": "/run/containerd",
    "cni": "/var/lib/cni",
    "network": "/etc/cni/net.d",
    "pods": "/var/log/pods",
    "containers": "/var/log/containers",
    "netns": "/run/netns",
}
"""Folder of the node -> where its programs look for it. Those stay on the machine as empty folders when a cluster is
removed: the kernel would take away the mounts that nodes of other clusters have there."""
_TASKS = "io.containerd.runtime.v2.task/k8s.io"
_PLUGINS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")


def start_node(node: NodeLayout, images: Path) -> None:
    """Start the node unless it runs already."""
    if processes.running(node.cluster, node.name):
        return
    for name, place in _DISK.items():
        (node.folder / name).mkdir(parents=True, exist_ok=True)
        Path(place).mkdir(parents=True, exist_ok=True)
    _connect(node)
    _write_settings(node)
    script = node.folder / "start.sh"
    script.write_text(_script(node, images))
    processes.start(
        node.cluster,
        node.name,
        ["nsenter", f"--net=/run/netns/{node.namespace}", "unshare", "--mount", "--uts", "--pid", "--fork",
         "--kill-child", "--mount-proc", "bash", script],
    )  # fmt: skip


def kill_node(node: NodeLayout) -> None:
    """Cut the node's power."""
    processes.kill(node.cluster, node.name)


def load_image(node: NodeLayout, archive: Path) -> None:
    """Put an image on a running node."""
    run("ctr", f"--address={node.containerd_socket}", "--namespace=k8s.io", "images", "import", archive)


def start_bridge(layout: Layout) -> None:
    if layout.bridge not in _links():
        run("ip", "link", "add", layout.bridge, "type", "bridge")
        run("ip", "address", "add", f"{layout.address}/24", "dev", layout.bridge)
    run("ip", "link", "set", layout.bridge, "up")


def remove_network(layout: Layout) -> None:
    """Remove the bridge and the namespaces of the nodes, whatever of them exists."""
    namespaces = [layout.node(name).namespace for name in NODES]
    for link in _links().intersection([*namespaces, layout.bridge]):
        run("ip", "link", "delete", link)
    for namespace in _namespaces().intersection(namespaces):  # afterwards: it would take its link away at some time
        run("ip", "netns", "delete", namespace)


def remove_cgroups(layout: Layout) -> None:
    """Remove the cgroups of killed containers. All nodes share their parent, which goes with the last of them."""
    parents = [*Path("/sys/fs/cgroup").glob("*/k8s.io"), Path("/sys/fs/cgroup/k8s.io")]
    containers = {folder.name for folder in layout.root.glob(f"*/run/{_TASKS}/*")}
    for parent in parents:
        for folder in [*(parent / name for name in containers), parent]:
            try:
                folder.rmdir()
            except OSError:  # another hierarchy's, or in use by another node
                continue


def _connect(node: NodeLayout) -> None:
    space, bridge = node.namespace, node.cluster.bridge
    if space not in _namespaces():
        run("ip", "netns", "add", space)
    inside = ("ip", "-n", space)
    if space not in _links():
        run("ip", "link", "add", space, "type", "veth", "peer", "name", "eth0", "netns", space)
        run(*inside, "address", "add", f"{node.address}/24", "dev", "eth0")
    run("ip", "link", "set", space, "master", bridge, "up")
    run(*inside, "link", "set", "lo", "up")
    run(*inside, "link", "set", "eth0", "up")
    run("ip", "route", "replace", node.pod_range, "via", node.address)
    for name in NODES:
        other = node.cluster.node(name)
        if other.name != node.name:
            run(*inside, "route", "replace", other.pod_range, "via", other.address)


def _links() -> set[str]:
    return {link["ifname"] for link in json.loads(run("ip", "-json", "link") or "[]")}


def _namespaces() -> set[str]:
    return {space["name"] for space in json.loads(run("ip", "-json", "netns") or "[]")}


def _write_settings(node: NodeLayout) -> None:
    folder, cluster = node.folder, node.cluster
    plugins = next((folder for folder in _PLUGINS if (Path(folder) / "bridge").exists()), _PLUGINS[0])
    (folder / "resolv.conf").write_text("")
    (folder / "network" / "10-pods.conflist").write_text(json.dumps(_pod_network(node)))
    (folder / "containerd.toml").write_text(
        f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
"""
    )
    (folder / "kubelet.yaml").write_text(
        f"""apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {node.address}
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
oomScoreAdj: 0
maxPods: 200
nodeLeaseDurationSeconds: 8
clusterDNS: [{DNS_SERVICE_ADDRESS}]
clusterDomain: cluster.local
resolvConf: {folder}/resolv.conf
evictionHard: {{memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}}
"""
    )
    (folder / "proxy.yaml").write_text(
        f"""apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {{kubeconfig: {cluster.kubeconfig_of("proxy")}}}
mode: nftables
hostnameOverride: {node.name}
clusterCIDR: {cluster.pod_range}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
oomScoreAdj: 0
conntrack: {{maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}
"""
    )


def _pod_network(node: NodeLayout) -> dict[str, object]:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": node.pod_range}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]}


def _script(node: NodeLayout, images: Path) -> str:
    folder, cluster = node.folder, node.cluster
    mounts = "\n".join(f"mount --bind {folder}/{name} {place}" for name, place in _DISK.items())
    return f"""set -e
mount --make-rprivate /
{mounts}
mount --make-rshared /
hostname {node.name}
containerd --config {folder}/containerd.toml > {cluster.logs}/{node.name}-containerd.log 2>&1 &
until ctr version > /dev/null 2>&1; do sleep 0.1; done
if [ ! -e {folder}/images-imported ]; then
  ctr --namespace k8s.io images import {images}
  touch {folder}/images-imported
fi
{cluster.program("kubelet")} --config={folder}/kubelet.yaml --kubeconfig={cluster.kubeconfig_of(node.name)} \\
  --hostname-override={node.name} --node-ip={node.address} --cert-dir={folder}/kubelet/pki \\
  > {cluster.logs}/{node.name}-kubelet.log 2>&1 &
{cluster.program("kube-proxy")} --config={folder}/proxy.yaml > {cluster.logs}/{node.name}-proxy.log 2>&1 &
wait
"""
