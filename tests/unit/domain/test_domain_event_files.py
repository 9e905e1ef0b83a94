"""Scalars in event files: of the real writers, of those that were cut off, and of files that are none."""

import io
import math
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.proto.tensor_pb2 import TensorProto

from muster.domain.experiments.event_files import is_event_file, scalars
from muster.domain.experiments.job_metrics import MetricPoint

_VISUALDL = Path(__file__).parents[2] / "data" / "visualdl" / "vdlrecords.1700000000.log"
"""What VisualDL 2.5 writes for six scalars, a text and hyperparameters."""


def written(folder: Path) -> Path:
    with SummaryWriter(str(folder)) as writer:
        for step in range(5):
            writer.add_scalar("train/loss", 1 / (step + 1), step, walltime=1700000000.5 + step)
        writer.add_scalar("acc", math.nan, 3, walltime=1700000009.0)
        writer.add_histogram("weights", [1.0, 2.0], 1)
        writer.add_text("note", "hello", 1)
    (path,) = folder.glob("*tfevents*")
    return path


def read(path: Path, data: bytes | None = None) -> list[MetricPoint]:
    return list(scalars(io.BytesIO(path.read_bytes() if data is None else data), path.name))


def test_scalars_of_tensorboard(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert is_event_file(f"runs/{path.name}")
    *losses, acc = read(path)
    assert [(one.name, one.step, one.at) for one in losses] == [
        ("train/loss", step, 1700000000.5 + step) for step in range(5)
    ]
    assert losses[1].value == 0.5
    assert (acc.name, acc.step, math.isnan(acc.value)) == ("acc", 3, True)


def test_scalars_that_newer_writers_store_as_tensors() -> None:
    content = b"\x00\x00\x00\x3f"
    value = Summary.Value(tag="loss", tensor=TensorProto(dtype=1, tensor_content=content))
    other = Summary.Value(tag="text", tensor=TensorProto(dtype=7, string_val=[b"x"]))
    event = Event(wall_time=5.0, step=-2, summary=Summary(value=[value, other])).SerializeToString()
    record = len(event).to_bytes(8, "little") + bytes(4) + event + bytes(4)
    assert list(scalars(io.BytesIO(record), "events.out.tfevents.1")) == [MetricPoint("loss", -2, 5.0, 0.5)]


def test_scalars_of_visualdl() -> None:
    assert is_event_file(str(_VISUALDL))
    found = read(_VISUALDL)
    assert [(one.name, one.step, one.at) for one in found] == [
        *(("train/loss", step, 1700000000.0 + step) for step in range(5)),
        ("acc", 4, 1700000005.0),
    ]
    assert found[-1].value == 0.75


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    for path in (written(tmp_path), _VISUALDL):
        whole, data = read(path), path.read_bytes()
        for length in range(0, len(data), 7):
            found = read(path, data[:length])
            assert repr(found) == repr(whole[: len(found)])


@given(st.binary(max_size=400), st.sampled_from(["a.tfevents.1", "vdlrecords.1.log"]))
@settings(max_examples=300)
def test_a_file_that_is_none_has_no_scalars_and_is_no_error(data: bytes, name: str) -> None:
    list(scalars(io.BytesIO(data), name))
    list(scalars(io.BytesIO(len(data).to_bytes(8, "little") + data), name))
