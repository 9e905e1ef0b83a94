import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.failures.diagnosis import EVIDENCE_LINES, EVIDENCE_WIDTH, classify, evidence
from muster.domain.failures.exit_causes import EXIT_CODES, LAUNCH_ERRORS, REJECTED, SIGNALS
from muster.domain.failures.fault_table import fault_table_markdown
from muster.domain.failures.faults import FaultKind
from muster.domain.failures.log_patterns import SYMPTOMS, Symptom

from .samples import INNOCENT, SAMPLES, Sample

pytestmark = pytest.mark.fast
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "faults.md"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.code)
def test_the_log_tells_the_cause(sample: Sample) -> None:
    fault = classify(exit_code=sample.exit_code, log_tail=sample.log, is_pipe=sample.is_pipe)
    assert fault.code == sample.code
    assert sample.says in fault.cause


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.ending.code)
def test_every_row_has_a_sample(symptom: Symptom) -> None:
    logs = [sample.log for sample in SAMPLES if sample.code == symptom.ending.code]
    assert any(symptom.pattern.search(line) for log in logs for line in log.splitlines())


@pytest.mark.parametrize("log", INNOCENT)
def test_ordinary_lines_tell_nothing(log: str) -> None:
    assert classify(exit_code=1, log_tail=log).code == "exit"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.code)
def test_cause_and_advice_are_one_full_sentence_each(sample: Sample) -> None:
    fault = classify(exit_code=sample.exit_code, log_tail=sample.log, is_pipe=sample.is_pipe)
    assert "{" not in fault.cause + fault.advice
    assert "\n" not in fault.cause + fault.advice
    assert fault.advice.endswith(".")


@pytest.mark.parametrize(
    ("exit_code", "code", "kind", "retryable"),
    [
        (1, "exit", FaultKind.USER, True),
        (2, "exit", FaultKind.USER, True),
        (255, "exit", FaultKind.USER, True),
        (124, "command-timeout", FaultKind.USER, False),
        (126, "not-executable", FaultKind.CONFIGURATION, False),
        (127, "command-not-found", FaultKind.CONFIGURATION, False),
        (130, "interrupted", FaultKind.USER, False),
        (132, "illegal-instruction", FaultKind.CONFIGURATION, False),
        (134, "aborted", FaultKind.USER, True),
        (135, "bus-error", FaultKind.LIMIT, False),
        (136, "arithmetic", FaultKind.USER, False),
        (137, "killed", FaultKind.LIMIT, True),
        (139, "segfault", FaultKind.USER, True),
        (143, "terminated", FaultKind.USER, True),
        (150, "signal", FaultKind.USER, True),
    ],
)
def test_exit_codes_are_classified(exit_code: int, code: str, kind: FaultKind, retryable: bool) -> None:
    fault = classify(exit_code=exit_code)
    assert (fault.code, fault.kind, fault.retryable, fault.exit_code) == (code, kind, retryable, exit_code)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_and_its_shell_exit_code_mean_the_same(number: int) -> None:
    assert classify(signal=number).code == classify(exit_code=128 + number).code == SIGNALS[number].code


@pytest.mark.parametrize("exit_code", EXIT_CODES)
def test_the_exit_code_is_quoted(exit_code: int) -> None:
    assert str(exit_code) in classify(exit_code=exit_code).cause


@pytest.mark.parametrize(
    ("error_code", "kind", "retryable"),
    [
        ("port-in-use", FaultKind.PLATFORM, True),
        ("disk-full", FaultKind.CAPACITY, True),
        ("prolog", FaultKind.PLATFORM, True),
        ("no-ports", FaultKind.CAPACITY, True),
        ("too-many-tasks", FaultKind.CAPACITY, True),
        ("package", FaultKind.CONFIGURATION, False),
        ("bad-request", FaultKind.CONFIGURATION, False),
        ("image", FaultKind.CONFIGURATION, False),
        ("image-denied", FaultKind.CONFIGURATION, False),
        ("workdir", FaultKind.CONFIGURATION, False),
        ("registry", FaultKind.PLATFORM, True),
        ("container-engine", FaultKind.CONFIGURATION, True),
        ("engine-time-limit", FaultKind.LIMIT, False),
        ("engine-preempted", FaultKind.CAPACITY, True),
        ("engine-requeued", FaultKind.PLATFORM, True),
        ("engine-start", FaultKind.PLATFORM, True),
        ("login-unreachable", FaultKind.CONFIGURATION, False),
        ("too-large", FaultKind.CONFIGURATION, False),
        ("secret", FaultKind.CONFIGURATION, False),
        ("rejected", FaultKind.CONFIGURATION, False),
    ],
)
def test_launch_errors_are_classified(error_code: str, kind: FaultKind, retryable: bool) -> None:
    fault = classify(error_code=error_code, error_message="it is so.")
    assert (fault.code, fault.kind, fault.retryable) == (error_code, kind, retryable)
    assert ".." not in fault.cause


def test_refusal_of_an_engine_that_is_a_sentence_is_told_as_it_is() -> None:
    fault = classify(error_code="refused-by-engine", error_message="Slurm refused the job: no such feature")
    assert (fault.code, fault.kind, fault.retryable) == ("rejected", FaultKind.CONFIGURATION, False)
    assert fault.cause == "Slurm refused the job: no such feature."


def test_the_matrix_of_launch_errors_is_complete() -> None:
    assert set(LAUNCH_ERRORS) == {
        "refused-by-engine",
        "engine-time-limit",
        "engine-start",
        "engine-preempted",
        "engine-requeued",
        "login-unreachable",
        "port-in-use",
        "disk-full",
        "prolog",
        "no-ports",
        "too-many-tasks",
        "package",
        "bad-request",
        *("image", "image-denied", "workdir", "registry", "container-engine", "container-runtime"),
        "too-large",
        "secret",
        REJECTED,
    }


def test_an_unknown_launch_error_is_the_platforms_and_quoted() -> None:
    fault = classify(error_code="system", error_message="fork failed")
    assert (fault.code, fault.kind, fault.retryable) == ("launch-failed", FaultKind.PLATFORM, True)
    assert "fork failed" in fault.cause


def test_what_a_cluster_rejects_is_never_tried_again_and_quoted() -> None:
    fault = classify(error_code=REJECTED, error_message="invalid partition name specified")
    assert (fault.kind, fault.retryable) == (FaultKind.CONFIGURATION, False)
    assert "invalid partition name specified" in fault.cause


def test_a_lost_node_is_retried_without_counting() -> None:
    fault = classify(lost=True, task="demo-worker-0")
    assert (fault.code, fault.retryable, fault.counts_against_retries) == ("node-lost", True, False)
    assert fault.task == "demo-worker-0"


def test_memory_limit_names_what_was_asked_and_what_to_raise() -> None:
    fault = classify(exit_code=137, oom=True, memory_bytes=2 * 2**30, log_tail="ConnectionResetError: x\n")
    assert (fault.code, fault.kind, fault.retryable) == ("memory", FaultKind.LIMIT, False)
    assert "2Gi" in fault.cause
    assert "resources.memory" in fault.advice


def test_time_limit_is_named_and_not_retried() -> None:
    fault = classify(signal=15, stopped=True, time_limit_hit=True, time_limit_s=7200)
    assert (fault.code, fault.kind, fault.retryable) == ("time-limit", FaultKind.LIMIT, False)
    assert "2h" in fault.cause


def test_a_task_we_stopped_is_no_crash() -> None:
    assert classify(signal=9, stopped=True).code == "stopped"


def test_an_end_without_a_trace_is_the_platforms() -> None:
    fault = classify()
    assert (fault.code, fault.kind, fault.retryable) == ("no-exit-code", FaultKind.PLATFORM, True)


@pytest.mark.parametrize(
    "code", ["missing-module", "missing-file", "syntax", "python-bug", "gpu-memory", "memory", "bad-arguments"]
)
def test_what_would_end_the_same_way_is_never_retried(code: str) -> None:
    assert not any(row.ending.retryable for row in SYMPTOMS if row.ending.code == code)


def test_overcome_trouble_does_not_hide_the_final_exception() -> None:
    log = "Connection refused, trying again\nTraceback (most recent call last):\n  File 'a'\nKeyError: 'label'\n"
    assert classify(exit_code=1, log_tail=log).code == "python-exception"


def test_particulars_before_a_vague_exception_are_found() -> None:
    log = "NCCL WARN ncclSystemError: shm_open\nTraceback (most recent call last):\n  File 'a'\nRuntimeError: failed\n"
    assert classify(exit_code=1, log_tail=log).code == "nccl"


def test_a_launchers_own_exception_does_not_hide_its_childs() -> None:
    child = "Traceback (most recent call last):\n  File 'a'\nValueError: bad label\n"
    parent = "Traceback (most recent call last):\n  File 'b'\ntorch.distributed.elastic.errors.ChildFailedError: x\n"
    assert "bad label" in classify(exit_code=1, log_tail=child + parent).cause


def test_an_exception_the_program_survived_is_not_its_end() -> None:
    log = "Traceback (most recent call last):\n  File 'a'\nValueError: bad line\n" + "epoch done\n" * 100
    assert classify(exit_code=1, log_tail=log).code == "exit"


def test_what_was_logged_before_a_kill_from_outside_is_not_its_cause() -> None:
    assert classify(signal=9, log_tail="Connection refused, trying again\n").code == "killed"
    assert classify(signal=9, log_tail="Out of memory: Killed process 7 (python)\n").code == "host-memory"


def test_colours_and_rank_prefixes_are_seen_through() -> None:
    log = "[rank1]: Traceback (most recent call last):\n[rank1]:   File 'a'\n[rank1]: \x1b[31mNameError: x\x1b[0m\n"
    assert classify(exit_code=1, log_tail=log).code == "python-bug"


def test_evidence_ends_with_the_telling_line() -> None:
    sample = next(sample for sample in SAMPLES if sample.code == "missing-module")
    lines = evidence(sample.log + "atexit: bye\n")
    assert lines[-1] == "ModuleNotFoundError: No module named 'paddlenlp.ops'"
    assert len(lines) <= EVIDENCE_LINES


def test_evidence_without_a_known_cause_is_the_end_of_the_log() -> None:
    assert evidence("\n".join(f"line {number}" for number in range(50)) + "\n\n") == [
        "line 45", "line 46", "line 47", "line 48", "line 49",
    ]  # fmt: skip


def test_evidence_of_nothing_is_nothing_and_of_long_lines_short() -> None:
    assert evidence("") == []
    assert [len(line) for line in evidence("x" * 100_000)] == [EVIDENCE_WIDTH]


@given(st.text(), st.none() | st.integers(0, 255))
def test_any_log_is_classified(log: str, exit_code: int | None) -> None:
    assert classify(exit_code=exit_code, log_tail=log).cause
    assert len(evidence(log)) <= EVIDENCE_LINES


@pytest.mark.parametrize(
    "garbage", ["x", "connect 1.1.1.1:1 ", "gloo ", "lib", "out of memory. Tried to allocate 1 GB "]
)
def test_garbage_costs_no_more_than_its_length(garbage: str) -> None:
    began = time.process_time()
    classify(exit_code=1, log_tail=(garbage * 2000 + "\n") * 300)
    assert time.process_time() - began < 10  # under 1 s here; minutes when a pattern backtracks without bound


def test_the_page_of_faults_is_written_from_the_table(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, fault_table_markdown())


def test_a_program_that_could_not_write_its_last_words_failed_for_the_disk() -> None:
    fault = classify(exit_code=1, disk_full=True, log_tail="step 1\n")
    assert (fault.code, fault.counts_against_retries) == ("disk-full", False)


def test_what_the_log_says_comes_before_a_full_disk() -> None:
    assert classify(exit_code=1, disk_full=True, log_tail="MemoryError: x\n").code == "memory"
    assert classify(signal=15, disk_full=True).code != "disk-full"


@pytest.mark.parametrize(
    ("log", "code", "kind"),
    [
        ('Error: short-name "a/b:1" did not resolve to an alias and no registries', "image", FaultKind.CONFIGURATION),
        (
            "docker: Error response from daemon: pull access denied for b\n\nRun 'docker run --help'",
            "image-denied",
            None,
        ),
        ("Error response from daemon: Head https://r/v2/b: no basic auth credentials", "image-denied", None),
        ("Error: reading manifest 1 in r:1/b: authentication required", "image-denied", FaultKind.CONFIGURATION),
        ("Trying to pull r:1/b:1...\nError: pinging container registry r:1: dial tcp: refused", "registry", None),
        (
            "Error: initializing source docker://r.invalid/b:1: pinging container registry r.invalid: Get"
            ' "https://r.invalid/v2/": dial tcp: lookup r.invalid: no such host',
            "image",
            FaultKind.CONFIGURATION,
        ),
        ("Error: pinging container registry r: dial tcp: lookup r: server misbehaving", "registry", None),
        ("Error: statfs /nothing: no such file or directory", "container-engine", FaultKind.CONFIGURATION),
    ],
)
def test_an_engine_that_failed_is_not_the_program(log: str, code: str, kind: FaultKind | None) -> None:
    fault = classify(exit_code=125, is_contained=True, log_tail=log)
    assert (fault.code, fault.exit_code) == (code, None)
    assert kind in (None, fault.kind)
    assert "exit code" not in fault.cause
    assert classify(exit_code=125, log_tail=log).code != code


def test_a_program_in_a_container_may_end_with_the_code_of_an_engine() -> None:
    fault = classify(exit_code=125, is_contained=True, log_tail="epoch 1")
    assert (fault.code, fault.exit_code) == ("exit", 125)


RLIMIT = "error setting rlimits for ready process: error setting rlimit type 7: operation not permitted"
CREATE = "runc create failed: unable to start container process: error during container init"


@pytest.mark.parametrize(
    "log",
    [
        f"Error: runc: {CREATE}: {RLIMIT}: OCI permission denied",
        "Error: OCI runtime error: crun: writing file `/sys/fs/cgroup/x/cgroup.procs`: Permission denied",
        f"docker: Error response from daemon: OCI runtime create failed: {CREATE}: open /dev/kfd: permission denied",
    ],
)
def test_an_engine_that_cannot_make_a_container_is_the_platforms(log: str) -> None:
    fault = classify(exit_code=126, is_contained=True, log_tail=log)
    assert (fault.code, fault.kind, fault.exit_code) == ("container-engine", FaultKind.PLATFORM, None)
    assert fault.retryable
    assert "chmod" not in fault.advice


def test_an_engine_that_cannot_mount_what_the_job_says_is_not() -> None:
    log = f'Error: runc: {CREATE}: error mounting "/a" to rootfs at "/b": not a directory: OCI runtime error'
    fault = classify(exit_code=126, is_contained=True, log_tail=log)
    assert (fault.code, fault.kind) == ("container-engine", FaultKind.CONFIGURATION)


@pytest.mark.parametrize(
    ("log", "code"),
    [
        (f'Error: runc: {CREATE}: exec: "/work/train.sh": permission denied: OCI permission denied', "not-executable"),
        ("Error: crun: open executable: Permission denied: OCI permission denied", "permission"),
        ("train.sh: Permission denied", "not-executable"),
    ],
)
def test_a_program_that_may_not_be_run_in_a_container_is_not_the_engines_fault(log: str, code: str) -> None:
    assert classify(exit_code=126, is_contained=True, log_tail=log).code == code
