"""How long one question takes, and whether that was the search or somebody's memory of it.

Timed one query at a time through the retriever as it is configured, after warm-up. A retriever that keeps its results
(or the vectors of its queries) and was asked these questions before would answer from its memory, and the figure would
be the speed of a dictionary. So a few texts that nobody can have asked yet are asked twice each. Where the second
answer comes much faster there is a memory, and then the questions must have shown the same drop between their timed
answer and one asked just before. Where they did not, they were in it already, and no latency is reported.

Each comparison is of one text with itself, taken within moments, so neither a slow machine nor a router that sends
some questions another way looks like a cache. What it cannot see: a memory that answers *similar* texts, one that saves
less than half of the time, and searches that take less than a millisecond anyway.
"""

import contextlib
import math
import secrets
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever

from rungs.measure.golden import Question

__all__ = ["Times", "time_questions", "to_time"]

_WARM_UP = 3
_TIMED = 100
_PROBES = 8
_FEWEST = 3
"""Questions below which noise could pass for a pattern."""
_DROP = 2.0
"""How much faster a second answer must be to have come from a memory."""
_MOSTLY = 0.75
_SLOW_ENOUGH_MS = 1.0


@dataclass(slots=True)
class Times:
    """What timing a retriever gave.

    Attributes
    ----------
    ms
        By question id; empty where they mean nothing.
    errors
        What questions raised, by id.
    reason
        Why there are no times, where they were taken and mean nothing.
    """

    ms: dict[str, float] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    reason: str | None = None

    def summary(self) -> dict[str, float | int | str | None]:
        """``p50_ms``, ``p95_ms`` and ``n``, and ``reason`` where there is one."""
        if not self.ms or self.errors:
            why = {"reason": self.reason} if self.reason else {}
            return {"p50_ms": None, "p95_ms": None, "n": 0, **why}
        p50, p95 = np.percentile(list(self.ms.values()), (50, 95))
        return {"p50_ms": round(float(p50), 3), "p95_ms": round(float(p95), 3), "n": len(self.ms)}


def to_time(questions: Sequence[Question]) -> Sequence[Question]:
    """The questions that are timed: all of them up to 100, else 100 spread evenly over the file and so over its kinds.

    A median needs no more, and every further one is a search that nothing may share.
    """
    n = len(questions)
    return questions if n <= _TIMED else [questions[i * n // _TIMED] for i in range(_TIMED)]


def time_questions(
    retriever: BaseRetriever, questions: Sequence[Question], *, shown: Iterable[Question] | None = None
) -> Times:
    """Time every question, one at a time, after warm-up on texts that are no question here.

    Parameters
    ----------
    retriever
        As it is configured.
    questions
        What to ask.
    shown
        The same questions behind a progress bar.
    """
    for question in questions[:_WARM_UP]:
        with contextlib.suppress(Exception):  # what fails here fails on the questions too, where it is recorded
            retriever.retrieve(" ".join(reversed(question.q.split())))
    times = Times()
    for question in questions if shown is None else shown:
        try:
            times.ms[question.id] = round(_ms(retriever, question.q), 3)
        except Exception as error:
            times.errors[question.id] = error
    if not times.errors and (reason := _remembered(retriever, questions, times.ms)):
        times.ms, times.reason = {}, reason
    return times


def _ms(retriever: BaseRetriever, text: str) -> float:
    start = time.perf_counter()
    retriever.retrieve(text)
    return (time.perf_counter() - start) * 1000


def _remembered(retriever: BaseRetriever, questions: Sequence[Question], timed: dict[str, float]) -> str | None:
    """Why the times are not those of a search, or ``None``."""
    if len(questions) < _FEWEST:
        return None
    probes = (
        [questions[i * len(questions) // _PROBES] for i in range(_PROBES)] if len(questions) > _PROBES else questions
    )
    unseen = [drop for question in probes if (drop := _drop(retriever, f"{question.q} {secrets.token_hex(3)}"))]
    if not unseen:
        return "replayed: it raises for every text but these questions, so their answers were made earlier"
    first = statistics.median(first for first, _ in unseen)
    drops = [first / second for first, second in unseen]
    if first < _SLOW_ENOUGH_MS or sum(drop >= _DROP for drop in drops) < _MOSTLY * len(drops):
        return None
    known = [question for question in probes if timed[question.id] < _again(retriever, question) * _least(drops)]
    if 2 * len(known) <= len(probes):
        return None
    return (
        f"cached: a new text takes {first:.1f} ms and is then remembered, and these questions were remembered "
        "before they were timed; time a freshly opened retriever"
    )


def _drop(retriever: BaseRetriever, text: str) -> tuple[float, float] | None:
    """How long a text takes the first time and the second."""
    try:
        return _ms(retriever, text), max(_ms(retriever, text), 1e-6)
    except Exception:
        return None


def _again(retriever: BaseRetriever, question: Question) -> float:
    """How long a question takes that was asked just before; 0 where it raises, so that nothing follows from it."""
    with contextlib.suppress(Exception):
        retriever.retrieve(question.q)  # a small memory may have lost it since it was timed
        return _ms(retriever, question.q)
    return 0.0


def _least(drops: Sequence[float]) -> float:
    """The drop between remembered and not that is half of the usual one, as factors go."""
    return math.sqrt(statistics.median(drops))
