"""Scalars in the event files of TensorBoard and VisualDL. A file that is damaged, or was cut off while its program was
killed, is read as far as it goes.

A TensorBoard file is a row of records: the length in eight bytes, its check sum in four, the message, and its check sum
in four. One of VisualDL has no check sums.
"""

import struct
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO

from muster.domain.experiments.job_metrics import MetricPoint, point_problems
from muster.lib.protobuf_fields import BadMessage, fields, floating, signed, text

LONGEST_RECORD = 16 << 20
"""Images and graphs may be as long; a record that claims to be longer is damage."""
_TENSOR_FLOAT, _TENSOR_DOUBLE = 1, 2


def is_event_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return "tfevents" in name or name.startswith("vdlrecords.")


def scalars(file: BinaryIO, path: str) -> Iterator[MetricPoint]:
    """All scalars of the file, in its order."""
    is_visualdl = "tfevents" not in PurePosixPath(path).name
    for record in _records(file, checksum_bytes=0 if is_visualdl else 4):
        try:
            points = list(_of_visualdl(record) if is_visualdl else _of_tensorboard(record))
        except BadMessage:
            return
        yield from (point for point in points if not point_problems(point, ""))


def _records(file: BinaryIO, checksum_bytes: int) -> Iterator[bytes]:
    while True:
        head = file.read(8 + checksum_bytes)
        if len(head) < 8 + checksum_bytes:
            return
        (length,) = struct.unpack("<Q", head[:8])
        if length > LONGEST_RECORD:
            return
        record = file.read(length)
        if len(record) < length:
            return
        file.read(checksum_bytes)
        yield record


def _of_tensorboard(event: bytes) -> Iterator[MetricPoint]:
    at, step, summary = 0.0, 0, b""
    for number, value in fields(event):
        if number == 1:
            at = floating(value)
        elif number == 2:
            step = signed(value)
        elif number == 5 and isinstance(value, bytes):
            summary = value
    for number, value in fields(summary):
        if number == 1 and isinstance(value, bytes):
            tag, scalar = _summary_value(value)
            if scalar is not None:
                yield MetricPoint(tag, step, at, scalar)


def _summary_value(message: bytes) -> tuple[str, float | None]:
    tag, scalar = "", None
    for number, value in fields(message):
        if number == 1:
            tag = text(value)
        elif number == 2:
            scalar = floating(value)
        elif number == 8 and isinstance(value, bytes):
            scalar = _tensor_scalar(value)
    return tag, scalar


def _tensor_scalar(tensor: bytes) -> float | None:
    """The number of a tensor that has but one, as newer writers store scalars."""
    kind, content, dimensions = 0, b"", b""
    for number, value in fields(tensor):
        if number == 1:
            kind = signed(value)
        elif number == 2 and isinstance(value, bytes):
            dimensions = value
        elif number in (4, 5, 6) and isinstance(value, bytes):
            content = value
    size = {_TENSOR_FLOAT: 4, _TENSOR_DOUBLE: 8}.get(kind)
    return floating(content) if size == len(content) and not dimensions else None


def _of_visualdl(record: bytes) -> Iterator[MetricPoint]:
    for number, value in fields(record):
        if number != 1 or not isinstance(value, bytes):
            continue
        step, tag, at_ms, scalar = 0, "", 0, None
        for inner, content in fields(value):
            if inner == 1:
                step = signed(content)
            elif inner == 2:
                tag = text(content)
            elif inner == 3:
                at_ms = signed(content)
            elif inner == 4:
                scalar = floating(content)
        if scalar is not None:
            yield MetricPoint(tag, step, at_ms / 1000, scalar)
