"""The parts of MLflow that Muster does not have: artifacts, logged models, the model registry, traces."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from muster.server.compatibility.mlflow.callers import Who
from muster.server.compatibility.mlflow.errors import MlflowRoute, refusal

router = APIRouter(route_class=MlflowRoute)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_ARTIFACTS = (
    "Muster keeps no artifacts of runs: write files in the working directory of a job and name them as its `outputs`,"
    " and see `muster model register` for models"
)
_INSTEAD = {
    "artifacts": _ARTIFACTS,
    "mlflow-artifacts": _ARTIFACTS,
    "logged-models": _ARTIFACTS,
    "registered-models": "Muster keeps models in its own way: see `muster model register`",
    "model-versions": "Muster keeps models in its own way: see `muster model register`",
}


@router.get("/api/2.0/mlflow/artifacts/list", name="mlflow_list_artifacts")
@router.get("/api/2.0/mlflow-artifacts/artifacts", name="mlflow_list_own_artifacts")
async def no_artifacts(who: Who) -> JSONResponse:
    """There are none, which is no error."""
    who.require_reading()
    return JSONResponse({"files": []})


@router.api_route("/api/2.0/{path:path}", methods=_METHODS, name="mlflow_not_answered")
@router.api_route("/api/3.0/mlflow/{path:path}", methods=_METHODS, name="mlflow_3_not_answered")
async def not_answered(request: Request, path: str) -> JSONResponse:
    words = path.split("/")
    instead = next((_INSTEAD[word] for word in words[:2] if word in _INSTEAD), None)
    if instead is not None:
        return refusal(501, "NOT_IMPLEMENTED", instead)
    return refusal(404, "ENDPOINT_NOT_FOUND", f"Muster does not answer {request.method} {request.url.path}")
