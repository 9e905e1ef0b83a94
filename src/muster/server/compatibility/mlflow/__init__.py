"""MLflow's tracking REST API, version 2.0, so that programs that report with MLflow's client report here unchanged.

A job is a run, and so is what a program outside of Muster reports: a job of no cluster (docs/adr/0025-mlflow.md). The
words of MLflow (`run_id`, `FINISHED`, `lifecycle_stage`) exist only here. Rights are checked per object with Muster's
own table, limits are those of metrics and notes, and every refusal has MLflow's form.
"""

from fastapi import FastAPI

from muster.server.compatibility.mlflow.routes import experiments, metrics, not_answered, reporting, runs, searching

PREFIX = "/api/2.0/mlflow"


def install(app: FastAPI) -> None:
    for module in (experiments, runs, reporting, metrics, searching):
        app.include_router(module.router, prefix=PREFIX, include_in_schema=False)
    app.include_router(not_answered.router, include_in_schema=False)
