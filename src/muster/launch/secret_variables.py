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


def secret_files(uses: Iterable[SecretUse], values: Mapping[str, bytes]) -> dict[str, bytes]:
    """By path in the folder of the secrets."""
    return {use.file: values[use.name] for use in uses if use.file}


def _variables(uses: Iterable[SecretUse], value: Callable[[SecretUse], str], folder: str) -> dict[str, str]:
    variables: dict[str, str] = {}
    for use in uses:
        if use.file:
            variables[FOLDER_VARIABLE] = folder
        if use.env:
            variables[use.env] = f"{folder}/{use.file}" if use.file else value(use)
    return variables
