"""Errors about files, as real programs print them: a file is named only where the line certainly has its name."""

import pytest

from muster.domain.failures.diagnosis import classify

pytestmark = pytest.mark.fast
_UNNAMED = "A file that the program wanted to use does not exist."
_DENIED = "The program may not use a file that it needs."


@pytest.mark.parametrize(
    ("line", "name"),
    [
        # GNU coreutils, grep, sed, tar and others
        ("cat: /no/such: No such file or directory", "/no/such"),
        ("cat: model: No such file or directory", "model"),
        ("cat: 'a b': No such file or directory", "a b"),
        ("head: cannot open '/no/such' for reading: No such file or directory", "/no/such"),
        ("ls: cannot access 'a b': No such file or directory", "a b"),
        ("cp: cannot stat '/no/x': No such file or directory", "/no/x"),
        ("mkdir: cannot create directory ‘/no/such/f’: No such file or directory", "/no/such/f"),
        ("touch: cannot touch '/no/such/f': No such file or directory", "/no/such/f"),
        ("dd: failed to open '/no/such': No such file or directory", "/no/such"),
        ("sed: can't read /no/such: No such file or directory", "/no/such"),
        ("sort: cannot read: /no/such: No such file or directory", "/no/such"),
        ("tar: /no/such: Cannot open: No such file or directory", "/no/such"),
        ("tee: /no/such/x: No such file or directory", "/no/such/x"),
        ("find: ‘/no/such’: No such file or directory", "/no/such"),
        ("timeout: failed to run command ‘/no/such’: No such file or directory", "/no/such"),
        ("awk: fatal: cannot open file `/no/such' for reading: No such file or directory", "/no/such"),
        ('rsync: [sender] link_stat "/no" failed: No such file or directory (2)', "/no"),
        ("fatal: cannot change to '/no': No such file or directory", "/no"),
        # shells
        ("bash: /no/such.sh: No such file or directory", "/no/such.sh"),
        ("bash: line 1: ./nofile: No such file or directory", "./nofile"),
        ("run.sh: line 12: cd: data: No such file or directory", "data"),
        ("sh: 0: cannot open /no/such.sh: No such file", "/no/such.sh"),
        ("sh: 1: .: cannot open /no/such: No such file", "/no/such"),
        ("sh: 1: cannot create /no/such/f: Directory nonexistent", "/no/such/f"),
        # languages
        ('Can\'t open perl script "/no/such": No such file or directory', "/no/such"),
        ("RuntimeError: cannot open data/train.bin: No such file or directory", "data/train.bin"),
    ],
)
def test_missing_file_is_named(line: str, name: str) -> None:
    fault = classify(exit_code=1, log_tail=line + "\n")
    assert (fault.code, fault.cause) == ("missing-file", f"The file {name} does not exist.")


@pytest.mark.parametrize(
    "line",
    [
        "…; sleep 2: No such file or directory",
        "bash: line 1: /tmp; sleep 2: No such file or directory",
        "bash: line 1: /tmp/a b/c: No such file or directory",
        "open: No such file or directory",
        "train: could not load the model: No such file or directory",
        "cannot open: No such file or directory at -e line 1.",
        'cat: "it\'s": No such file or directory',
    ],
)
def test_word_of_a_sentence_is_no_missing_file(line: str) -> None:
    fault = classify(exit_code=1, log_tail=line + "\n")
    assert (fault.code, fault.cause) == ("missing-file", _UNNAMED)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("cat: /data/x: Permission denied", "/data/x"),
        ("head: cannot open '/data/x y' for reading: Permission denied", "/data/x y"),
        ("head: cannot open '/data/x' for reading: Permission denied", "/data/x"),
        ("du: cannot read directory '/data': Permission denied", "/data"),
        ("mkdir: cannot create directory ‘/data/x’: Permission denied", "/data/x"),
        ("tar: /data/x: Cannot open: Permission denied", "/data/x"),
        ("sort: open failed: /data/x: Permission denied", "/data/x"),
        ("sed: can't read /data/x: Permission denied", "/data/x"),
        ("bash: line 1: /data/x: Permission denied", "/data/x"),
        ("bash: line 1: cd: /data: Permission denied", "/data"),
        ("bash: line 1: exec: /data/run.sh: cannot execute: Permission denied", "/data/run.sh"),
        ("sh: 1: cannot create /data/x: Permission denied", "/data/x"),
        ("sh: 1: .: cannot open /data/x: Permission denied", "/data/x"),
        ("python3: can't open file '/data/x': [Errno 13] Permission denied", "/data/x"),
        ("awk: fatal: cannot open file `/data/x' for reading: Permission denied", "/data/x"),
        ('rsync: [sender] change_dir "/data" failed: Permission denied (13)', "/data"),
    ],
)
def test_forbidden_file_is_named(line: str, name: str) -> None:
    fault = classify(exit_code=1, log_tail=line + "\n")
    assert (fault.code, fault.cause) == ("permission", f"The program may not use {name}.")


@pytest.mark.parametrize(
    "line",
    ["bind: Permission denied", "train: the device cannot be used: Permission denied", "a; b 2: Permission denied"],
)
def test_word_of_a_sentence_is_no_forbidden_file(line: str) -> None:
    fault = classify(exit_code=1, log_tail=line + "\n")
    assert (fault.code, fault.cause) == ("permission", _DENIED)


@pytest.mark.parametrize(
    "line",
    [
        "bash: line 1: exec: ./run.sh: cannot execute: Permission denied",
        "timeout: failed to run command ‘./run.sh’: Permission denied",
        "env: ‘./run.sh’: Permission denied",
        "sh: 1: ./run.sh: Permission denied",
    ],
)
def test_script_that_is_not_executable_is_named(line: str) -> None:
    fault = classify(exit_code=126, log_tail=line + "\n")
    assert (fault.code, fault.cause) == ("not-executable", "The script ./run.sh is not executable.")
