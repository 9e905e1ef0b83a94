"""Divide the data files between the workers, as in the paddlecloud guide.

Every worker sorts the same list of files and keeps those whose index modulo the number of workers is its own id. Each
file is read exactly once, without any communication between workers.
"""

import os
from pathlib import Path

TRAIN_FILE_PATTERN = "data/train/part-*.txt"
TEST_FILE_PATTERN = "data/test/part-*.txt"


def main() -> None:
    task_dir = Path(os.environ["MUSTER_TASK_DIR"])
    trainer_id = int((task_dir / "trainer_id").read_text())
    trainer_count = int((task_dir / "trainer_count").read_text())
    # The lists go to the task's own folder: workers on one machine may share the working directory.
    for kind, pattern in (("train", TRAIN_FILE_PATTERN), ("test", TEST_FILE_PATTERN)):
        files = [str(path) for path in Path().glob(pattern)]
        mine = shard(files, trainer_id, trainer_count)
        (task_dir / f"{kind}.list").write_text("\n".join(mine))
        consume(trainer_id, kind, task_dir / f"{kind}.list")


def shard(files: list[str], trainer_id: int, trainer_count: int) -> list[str]:
    """Return this trainer's files. They are sorted first, because the order of a directory listing is undefined."""
    return [path for index, path in enumerate(sorted(files)) if index % trainer_count == trainer_id]


def consume(trainer_id: int, kind: str, file_list: Path) -> None:
    """Read every file of a list, as a training program would."""
    for path in file_list.read_text().splitlines():
        total = sum(int(line) for line in Path(path).read_text().splitlines())
        print(f"trainer {trainer_id} {kind} {path} sum {total}")


if __name__ == "__main__":
    main()
