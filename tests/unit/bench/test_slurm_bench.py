"""What the bench reads from the log of Slurm's controller and from sdiag."""

import time

import pytest

from bench.slurm.controller import calls_between, read_calls, read_log

pytestmark = pytest.mark.fast

LOG = """\
[2026-01-02T03:28:38.516] Running as primary controller
[2026-01-02T03:28:39.405] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=4294901759 usec=681
[2026-01-02T03:28:39.519] sched/backfill: _start_job: Started JobId=1 in main on n1
[2026-01-02T03:28:39.589] _job_complete: JobId=1 WEXITSTATUS 0
[2026-01-02T03:28:39.600] _slurm_rpc_submit_batch_job: JobId=2 InitPrio=4294901758 usec=402
[2026-01-02T03:28:39.655] _job_complete: JobId=1 done
[2026-01-02T03:28:40.100] sched: Allocate JobId=2 NodeList=n1 #CPUs=1 Partition=main
"""
SDIAG = """\
Jobs submitted: 1
Remote Procedure Call statistics by message type
	REQUEST_PARTITION_INFO                  ( 2009) count:18     ave_time:497    total_time:8950
	REQUEST_STATS_INFO                      ( 2035) count:3      ave_time:231    total_time:700
	MESSAGE_NODE_REGISTRATION_STATUS        ( 1002) count:4      ave_time:693    total_time:2774
	REQUEST_SUBMIT_BATCH_JOB                ( 4003) count:1      ave_time:1313   total_time:1313

Remote Procedure Call statistics by user
	root            (       0) count:48     ave_time:499    total_time:23989
"""


def test_each_step_of_a_job_has_the_time_of_its_line() -> None:
    jobs = read_log(LOG)

    assert list(jobs) == [1, 2]
    assert jobs[1].allocated_at - jobs[1].submitted_at == pytest.approx(0.114, abs=1e-3)
    assert jobs[1].ended_at - jobs[1].allocated_at == pytest.approx(0.136, abs=1e-3)
    assert (jobs[2].allocated_at > jobs[1].ended_at, jobs[2].ended_at) == (True, 0.0)


def test_times_are_those_of_this_machine() -> None:
    local = time.localtime(read_log(LOG)[1].submitted_at)

    assert (local.tm_hour, local.tm_min, local.tm_sec) == (3, 28, 39)


def test_calls_of_the_measurement_and_of_nodes_are_not_counted() -> None:
    assert read_calls(SDIAG) == {"REQUEST_PARTITION_INFO": 18, "REQUEST_SUBMIT_BATCH_JOB": 1}


def test_only_calls_that_were_made_in_between_remain() -> None:
    before = {"REQUEST_PARTITION_INFO": 17, "REQUEST_SUBMIT_BATCH_JOB": 1}

    assert calls_between(before, read_calls(SDIAG)) == {"REQUEST_PARTITION_INFO": 1}
