"""`python -m scripts.kube install|up|down|status|load`: the test cluster of `make kube-up`."""

import argparse
import sys
from pathlib import Path

from scripts.kube.cluster import Cluster, remove_cluster, running_cluster, start_cluster
from scripts.kube.layout import default_root
from scripts.kube.requirements import ClusterUnavailable, install_requirements


def main() -> int:
    arguments = _arguments()
    match arguments.action:
        case "install":
            return _install()
        case "up":
            return _up(arguments.root)
        case "down":
            remove_cluster(arguments.root)
            return 0
        case "load":
            return _load(arguments.root, arguments.archive)
        case _:
            return _status(arguments.root)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.kube", description="A real Kubernetes for tests.")
    parser.add_argument("--root", type=Path, default=default_root(), help="the cluster's folder (default: %(default)s)")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("install", help="install and build what a cluster needs, which takes a while the first time")
    actions.add_parser("up", help="start the cluster, or what of it does not run")
    actions.add_parser("down", help="remove the cluster and everything that belongs to it")
    actions.add_parser("status", help="say whether the cluster runs")
    load = actions.add_parser("load", help="put an image on every node")
    load.add_argument("archive", type=Path, help="an image as `docker save` writes it")
    return parser.parse_args()


def _install() -> int:
    try:
        install_requirements()
    except ClusterUnavailable as error:
        print(f"No cluster can be started here: {error}", file=sys.stderr)
        return 1
    return 0


def _up(root: Path) -> int:
    try:
        cluster = start_cluster(root)
    except ClusterUnavailable as error:
        print(f"The cluster cannot be started: {error}", file=sys.stderr)
        return 1
    _print_access(cluster)
    return 0


def _load(root: Path, archive: Path) -> int:
    cluster = running_cluster(root)
    if cluster is None:
        return _absent(root)
    cluster.load_image(archive)
    return 0


def _status(root: Path) -> int:
    cluster = running_cluster(root)
    if cluster is None:
        return _absent(root)
    print(cluster.kubectl("get", "nodes", "--output=wide"))
    _print_access(cluster)
    return 0


def _absent(root: Path) -> int:
    print(f"No cluster runs in {root}. Start it with `make kube-up`.", file=sys.stderr)
    return 1


def _print_access(cluster: Cluster) -> None:
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    print(f"export PATH={cluster.layout.programs}:$PATH")


sys.exit(main())
