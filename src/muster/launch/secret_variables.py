"""The variables and files by which a task gets its secrets. Values come last: requests are composed without them."""

from collections.abc import Callable, Iterable, Mapping

from muster.domain.specs import SecretUse

FOLDER_VARIABLE = "MUSTER_SECRETS"
MASK = "***"


def secret_variables(uses: Iterable[SecretUse], values: Mapping[str, bytes], folder: str) -> dict[str, str]:
    """`folder` is where the task finds the files of its secrets."""
    return _variables(uses, lambda use: values[use.name].decode("utf-8"), folder)


def masked_variables(uses: Iterable[SecretUse]) -> dict[str, str]:
    """The same variables as people may see them."""
    return _variables(uses, lambda use: MASK, "$MUSTER_TASK_DIR/secrets")


def secret_values(uses: Iterable[SecretUse], values: Mapping[str, bytes]) -> dict[str, str]:
    """The variables that are secrets themselves."""
    return {use.env: values[use.name].decode("utf-8") for use in uses if use.env and not use.file}


def secret_paths(uses: Iterable[SecretUse]) -> dict[str, str]:
    """The variables that are paths, as paths in the folder of the secrets, of which that itself is empty."""
    return {name: path.lstrip("/") for name, path in _variables(_in_files(uses), lambda use: "", "").items()}


def _in_files(uses: Iterable[SecretUse]) -> list[SecretUse]:
    return [use for use in uses if use.file]


def secret_files(uses: Iterable[SecretUse], values: Mapping[str, bytes]) -> dict[str, bytes]:
    """The content of each file, by its path in the folder of the secrets."""
    return {use.file: values[use.name] for use in uses if use.file}


def _variables(uses: Iterable[SecretUse], value: Callable[[SecretUse], str], folder: str) -> dict[str, str]:
    variables: dict[str, str] = {}
    for use in uses:
        if use.file:
            variables[FOLDER_VARIABLE] = folder
        if use.env:
            variables[use.env] = f"{folder}/{use.file}" if use.file else value(use)
    return variables
