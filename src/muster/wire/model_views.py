"""Builds what the API answers about models."""

from muster.api.models import ModelFileOut, ModelOut
from muster.domain.experiments.models import Model
from muster.lib.clock import iso


def model_view(model: Model) -> ModelOut:
    lineage = model.lineage
    return {
        "id": model.id,
        "name": model.name,
        "version": model.version,
        "owner": model.owner,
        "createdAt": iso(model.created_at),
        "description": model.description,
        "sizeBytes": model.size_bytes,
        "lineage": {
            "job": lineage.job,
            "jobId": lineage.job_id,
            "attempt": lineage.attempt,
            "path": lineage.path,
            "cluster": lineage.cluster,
            "framework": lineage.framework,
            "package": lineage.package,
            "inputs": list(lineage.inputs),
            "mounts": list(lineage.mounts),
            "image": lineage.image,
            "params": dict(lineage.params),
            "sweep": lineage.sweep,
            "member": lineage.member,
            "commit": lineage.commit,
        },
    }


def model_with_files_view(model: Model) -> ModelOut:
    files: list[ModelFileOut] = [{"path": file.path, "size": file.size, "sha256": file.sha256} for file in model.files]
    return {**model_view(model), "files": files}
