"""What MLflow's clients send. What is not known is left out, because each version of the client sends a little more."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_Id = Annotated[str, Field(min_length=1, max_length=64)]
_Key = Annotated[str, Field(max_length=1000)]
_Value = Annotated[str, Field(max_length=100_000)]
MOST_IN_A_BATCH = 1000


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


ExperimentId = Annotated[_Id, BeforeValidator(_as_text)]


class Body(BaseModel):
    model_config = ConfigDict(extra="ignore")


class OfRun(Body):
    run_id: _Id

    @model_validator(mode="before")
    @classmethod
    def _older_name(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given.get("run_id") and given.get("run_uuid"):
            return {**given, "run_id": given["run_uuid"]}
        return given


class OfExperiment(Body):
    experiment_id: ExperimentId


class Tag(Body):
    key: _Key
    value: _Value = ""


class Param(Body):
    key: _Key
    value: _Value = ""


class Metric(Body):
    key: _Key
    value: float
    """NaN and infinities come as numbers or as words."""
    timestamp: int = Field(ge=0)
    step: int = 0


class NewExperiment(Body):
    name: str
    tags: list[Tag] = Field(default_factory=list, max_length=200)


class RenamedExperiment(OfExperiment):
    new_name: str | None = None


class ExperimentTag(OfExperiment, Tag):
    pass


class SearchedExperiments(Body):
    max_results: int = Field(1000, ge=1, le=50_000)
    page_token: str | None = None
    filter: str | None = Field(None, max_length=10_000)
    order_by: list[str] = Field(default_factory=list, max_length=20)
    view_type: str = "ACTIVE_ONLY"


class CreatedRun(Body):
    experiment_id: ExperimentId = "0"
    run_name: str | None = Field(None, max_length=500)
    start_time: int | None = Field(None, ge=0)
    tags: list[Tag] = Field(default_factory=list, max_length=200)


class UpdatedRun(OfRun):
    status: str | None = None
    end_time: int | None = Field(None, ge=0)
    run_name: str | None = Field(None, max_length=500)


class LoggedMetric(OfRun, Metric):
    pass


class LoggedParam(OfRun, Param):
    pass


class SetTag(OfRun, Tag):
    pass


class DeletedTag(OfRun):
    key: _Key


class Batch(OfRun):
    metrics: list[Metric] = Field(default_factory=list, max_length=MOST_IN_A_BATCH)
    params: list[Param] = Field(default_factory=list, max_length=100)
    tags: list[Tag] = Field(default_factory=list, max_length=100)


class Dataset(Body):
    """Its schema and profile, which may be long, are not kept."""

    name: str = Field(min_length=1, max_length=500)
    digest: str = Field("", max_length=100)
    source_type: str = Field("", max_length=200)
    source: str = Field("", max_length=100_000)


class DatasetInput(Body):
    tags: list[Tag] = Field(default_factory=list, max_length=50)
    dataset: Dataset


class LoggedInputs(OfRun):
    datasets: list[DatasetInput] = Field(default_factory=list, max_length=100)


class SearchedRuns(Body):
    experiment_ids: list[ExperimentId] = Field(default_factory=list, max_length=1000)
    filter: str | None = Field(None, max_length=10_000)
    run_view_type: str = "ACTIVE_ONLY"
    max_results: int = Field(1000, ge=1, le=50_000)
    order_by: list[Annotated[str, Field(max_length=1000)]] = Field(default_factory=list, max_length=20)
    page_token: str | None = Field(None, max_length=20)
