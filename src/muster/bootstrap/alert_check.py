"""`muster alerts check` as a process: reads a file of rules, and prints its problems or its rules."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from muster.bootstrap.error_printing import print_error
from muster.domain.alerting.alert_rules import CHECKS, AlertRule
from muster.domain.errors import Invalid
from muster.lib.quantities import about_duration
from muster.settings.alerts_reading import AlertsConfig, read_alerts_config


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster alerts check")
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    try:
        config = read_alerts_config(arguments.file)
    except Invalid as error:
        print_error(error)
        return 2
    if arguments.json:
        sys.stdout.write(json.dumps({"rules": [rule_document(rule) for rule in config.rules]}, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(_lines(arguments.file, config)) + "\n")
    return 0


def rule_document(rule: AlertRule) -> dict[str, object]:
    return {
        "name": rule.name,
        "check": str(rule.check),
        "severity": str(rule.severity),
        "threshold": rule.threshold,
        "forSeconds": rule.for_s,
        "keepSeconds": rule.keep_s,
        "clusters": list(rule.clusters),
        "do": [str(action) for action in rule.actions],
        "inhibits": list(rule.inhibits),
    }


def _lines(file: Path, config: AlertsConfig) -> list[str]:
    rows = [("RULE", "CHECK", "SEVERITY", "THRESHOLD", "FOR", "DO"), *(_row(rule) for rule in config.rules)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    ways = len(config.settings.notices) + bool(config.settings.mail_to)
    told = f"{ways} way{'s' if ways != 1 else ''} to admins" if ways else "nobody is told: give mailTo or notices"
    return [*table, "", f"{file.name} is right: {len(config.rules)} rules, {told}"]


def _row(rule: AlertRule) -> tuple[str, ...]:
    unit = {"percent": " %", "degrees Celsius": " °C"}.get(CHECKS[rule.check].unit, f" {CHECKS[rule.check].unit}")
    threshold = "-" if rule.threshold is None else f"{rule.threshold:g}{unit}"
    lasts = about_duration(rule.for_s) if rule.for_s else "-"
    return rule.name, rule.check, rule.severity, threshold, lasts, ", ".join(rule.actions) or "-"


if __name__ == "__main__":
    sys.exit(main())
