"""Whether reports can be drawn."""

from collections.abc import Mapping

from rungs.errors import RunError
from rungs.measure.report import Report

__all__ = ["check_ok"]


def check_ok(reports: Mapping[str, Report]) -> None:
    """Stop where there is nothing to draw, or a report has no figures.

    Raises
    ------
    RunError
        When there is no report, or one is FAILED.
    """
    if not reports:
        raise RunError("there is no report to draw; measure a row first")
    for name, report in reports.items():
        if report.status != "ok":
            raise RunError(f"{name} is FAILED on {len(report.failures)} of {report.n} questions; mend it, then draw it")
