"""`muster operator`, which replaces this process by the operator. No code of the operator is imported here."""

import os
import sys

import click


@click.command()
@click.option("--kubeconfig", type=click.Path(dir_okay=False, exists=True), help="How to reach the API server.")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig [the current one].")
@click.option("--namespace", metavar="NS", help="Watch only this namespace [all].")
@click.option("--leader-elect", is_flag=True, help="Act only while holding the lease b2a304f2.paddlepaddle.org.")
@click.option("--leader-elect-namespace", metavar="NS", help="The namespace of the lease [the operator's own].")
@click.option(
    "--scheduling",
    metavar="WORD",
    help="How the pods of a job start together or not at all: volcano (PodGroups of Volcano), kubernetes (PodGroups of "
    "scheduling.k8s.io) or none [pods are held back by a scheduling gate until all of them fit].",
)
@click.option(
    "--gang-timeout",
    metavar="DURATION",
    help="How long the scheduler may find no node for a pod before the pods of its job, if they were held back by the "
    "operator, are taken back [2m].",
)
@click.option("--initImage", "init_image", metavar="IMAGE", help="The init container's image [that of the job].")
@click.option("--metrics-bind-address", metavar="ADDRESS", help="Where to serve /metrics [:8080]; 0 for nowhere.")
@click.option(
    "--health-probe-bind-address", metavar="ADDRESS", help="Where to serve /healthz and /readyz [:8081]; 0 for nowhere."
)
@click.option("--port-range", metavar="FIRST,LAST", help="The ports of jobs with intranet Host [35000,65000].")
@click.option("--etcd-server", metavar="URL", hidden=True, help="Has no effect: elastic jobs need no etcd.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much to log [info].")
def command(**given: str | bool | None) -> None:
    """Run PaddleJobs on Kubernetes, as a controller that needs no Muster server.

    In a pod it uses the account of the pod; elsewhere $KUBECONFIG, then ~/.kube/config. The PaddleJob resource has to
    be installed: `kubectl apply -f deploy/v1/crd.yaml`.

    \b
    Examples:
      muster operator --kubeconfig ~/.kube/config
      muster operator --namespace paddle-system --leader-elect
      muster operator --metrics-bind-address 0 --health-probe-bind-address 127.0.0.1:8081
    """
    words = [sys.executable, "-m", "muster.operator"]
    for name, value in given.items():
        option = "--initImage" if name == "init_image" else "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words += [option] if value else []
        elif value is not None:
            words += [option, value]
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - an argument list, no shell
