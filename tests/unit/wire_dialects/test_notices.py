"""How the server passes on what is said of a foreign job."""

import json

import pytest
from fastapi import Response

from muster.domain.errors import Invalid, Problem
from muster.server.submission_warnings import HEADER, relating_problems_to, with_warnings
from muster.wire.specs import read_source

pytestmark = pytest.mark.fast

JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: demo}
spec:
  worker:
    replicas: 1
    template: {spec: {containers: [{command: [x], image: i}]}}
"""
IMAGE = Problem("runtime.image", "this cluster runs no containers", "use runtime.venv")


def refused(text: str, problem: Problem) -> Problem:
    with pytest.raises(Invalid) as caught, relating_problems_to(read_source(text)):
        raise Invalid("this cluster cannot", problems=(problem,))
    return caught.value.problems[0]


def test_refusal_by_a_cluster_names_the_foreign_file_and_the_way_out() -> None:
    problem = refused(JOB, IMAGE)

    assert (problem.path, problem.line) == ("spec.worker.template.spec.containers[0].image", 7)
    assert problem.message == IMAGE.message
    assert "--set runtime.image=null" in problem.hint


def test_refusal_by_a_cluster_names_the_line_of_a_muster_spec() -> None:
    problem = refused("name: demo\ncommand: x\nruntime:\n  image: i\n", IMAGE)

    assert problem == Problem(IMAGE.path, IMAGE.message, IMAGE.hint, line=4)


def test_each_warning_is_a_header_of_its_own_in_ascii() -> None:
    response = with_warnings(Response(), ["one", "队列\nhas no effect"])

    headers = response.headers.getlist(HEADER)
    assert [json.loads(header) for header in headers] == ["one", "队列\nhas no effect"]
    assert all(header.isascii() and "\n" not in header for header in headers)


def test_endless_warnings_are_cut_and_counted() -> None:
    headers = with_warnings(Response(), [str(number) for number in range(50)]).headers.getlist(HEADER)

    assert len(headers) == 31
    assert json.loads(headers[-1]) == "and 20 more; a dry run lists them all"
