"""Which documents of Kubernetes are jobs: of several in a file, those are sent. The server reads them."""

KUBE_JOBS = {
    "PaddleJob": ("batch.paddlepaddle.org/", "kubeflow.org/"),
    **dict.fromkeys(("PyTorchJob", "TFJob", "MPIJob", "JAXJob", "XGBoostJob"), ("kubeflow.org/",)),
    "TrainJob": ("trainer.kubeflow.org/",),
    "Job": ("batch/", "batch.volcano.sh/"),
    "Pod": ("v1",),
}
"""The kinds, and how the versions of their APIs begin."""

PROGRAMS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob")
"""What would run beside a job, which may need it."""


def is_kube_job(kind: str, version: str) -> bool:
    return version.startswith(KUBE_JOBS.get(kind, ())) and bool(version)
