"""Fixtures shared by the tests of this folder."""

import pytest

from rungs.measure import Report

from .toys import row


@pytest.fixture
def ladder() -> dict[str, Report]:
    return {
        "grep": row([0, 0, 1, 0, 0, 0, 0, 0], [1] * 20),
        "windows": row([1, 0, 1, 0, 0, 1, 0, 1], [0, 1] + [0] * 18),
        "dense": row([1, 1, 1, 1, 0, 1, 1, 1], [0, 1, 0] + [0] * 17),
    }
