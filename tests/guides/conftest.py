"""Says at the end of a run what of the guides was not followed."""

import pytest

from tests.guides.steps import NotRun, read_steps
from tests.unit.docs.pages import ROOT, pages


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("markexpr") != "guides":
        return
    left_out = [
        f"{page.relative_to(ROOT)}:{step.line + 1}: {step.reason}"
        for page in pages()
        for step in read_steps(page.read_text(encoding="utf-8"))
        if isinstance(step, NotRun)
    ]
    terminalreporter.section(f"{len(left_out)} blocks and pages are not run")
    for line in left_out:
        terminalreporter.write_line(line)
