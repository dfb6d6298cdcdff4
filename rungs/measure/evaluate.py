"""Ask a retriever every question of a golden file, and report.

Any LlamaIndex retriever will do. One that has ``search`` (a `rungs.funnel.Funnel`) is asked through it, which adds the
route taken and the abstention signal. Nothing that goes wrong is averaged away: a question that raises, a chunk returned
twice, scores out of order or NaN, a hit that cannot be placed in the corpus or that the filter in force forbids, a stage
that was skipped, no hit for any question at all each make the report FAILED. (A node that a plain retriever returns twice is
dropped by LlamaIndex's own ``retrieve``, for its users as well as here.)
"""

import contextlib
import gc
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore
from tqdm.auto import tqdm

from rungs.errors import RunError
from rungs.measure.golden import Golden, Label, Question
from rungs.measure.latency import Times, time_questions, to_time
from rungs.measure.locate import Location, Locator
from rungs.measure.metrics import Judged, Judgement, aggregate, judge, score
from rungs.measure.report import Report
from rungs.measure.shared import share

__all__ = ["DEPTH", "evaluate", "evaluate_all"]

DEPTH = 40


@runtime_checkable
class _Searchable(Protocol):
    def search(self, query: str, top_k: int | None = None) -> Any: ...


@dataclass(slots=True)
class _Answer:
    """What one question got: its hits and where they lie, or what went wrong."""

    question: Question
    hits: list[NodeWithScore] = field(default_factory=list)
    places: list[Location] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def abstained(self) -> bool:
        return not self.hits or self.details.get("weak_match") is True


def evaluate(
    retriever: BaseRetriever,
    golden: Golden,
    *,
    depth: int = DEPTH,
    pooled: bool = False,
    latency: bool = True,
    progress: bool = True,
) -> Report:
    """Measure one retriever.

    Parameters
    ----------
    retriever
        Any LlamaIndex retriever over the golden file's corpus. With a ``search`` method it is asked for ``depth`` hits;
        without, it is taken as configured and ``Report.depth`` says how many it gave.
    golden
        From `load_golden`.
    depth
        Hits per question that are looked at.
    pooled
        Count labels under ``also`` as right.
    latency
        Also time every question in a pass of its own, as the retriever is configured. Where the times are those of a
        memory that already held the answers, ``Report.latency`` gives the reason in their place.
    progress
        Show a bar on stderr.

    Returns
    -------
    Report
        Status FAILED, with the error in the question's row, if any question could not be measured.

    Raises
    ------
    RunError
        When ``retriever`` is no retriever, or ``depth`` is below 1.

    Examples
    --------
    >>> report = evaluate(index.as_retriever(similarity_top_k=40), golden)  # doctest: +SKIP
    >>> report.metrics["recall@8"]  # doctest: +SKIP
    {'value': 0.43, 'low': 0.35, 'high': 0.51, 'n': 80}
    """
    return _evaluate({"": retriever}, golden, depth, pooled, latency, progress)[""]


def evaluate_all(
    retrievers: Mapping[str, BaseRetriever],
    golden: Golden,
    *,
    depth: int = DEPTH,
    pooled: bool = False,
    latency: bool = True,
    progress: bool = True,
) -> dict[str, Report]:
    """Measure several retrievers, asking every channel they share each question once.

    The latency pass shares nothing. Parameters as for `evaluate`; reports come back by the same names.
    """
    return _evaluate(retrievers, golden, depth, pooled, latency, progress)


def _evaluate(
    retrievers: Mapping[str, BaseRetriever], golden: Golden, depth: int, pooled: bool, latency: bool, progress: bool
) -> dict[str, Report]:
    _check(retrievers, depth)
    locator = Locator(golden.corpus)
    # timed before anything is asked for quality, so that what a retriever remembers cannot make it look fast
    times = {n: _time(r, golden.questions, n, progress) if latency else Times() for n, r in retrievers.items()}
    shared = share(retrievers) if len(retrievers) > 1 else retrievers
    reports = {}
    with _without_collector():
        for name, retriever in shared.items():
            asked = _bar(golden.questions, f"{name} measuring", progress)
            filters = _filters(_config(retrievers[name]))
            answers = [_ask(retriever, question, depth, locator, filters) for question in asked]
            reports[name] = _report(retrievers[name], golden, answers, times[name], pooled)
    return reports


def _check(retrievers: Mapping[str, BaseRetriever], depth: int) -> None:
    if depth < 1:
        raise RunError(f"depth is {depth}; measure at 1 hit or more")
    for name, retriever in retrievers.items():
        if not isinstance(retriever, BaseRetriever):
            raise RunError(
                f"{name or 'what was given'} is a {type(retriever).__name__}, not a LlamaIndex BaseRetriever; "
                "pass the retriever itself (a query engine has .retriever)"
            )


def _time(retriever: BaseRetriever, questions: Sequence[Question], name: str, progress: bool) -> Times:
    timed = to_time(questions)
    return time_questions(retriever, timed, shown=_bar(timed, f"{name} timing", progress))


def _bar(questions: Sequence[Question], label: str, progress: bool) -> Iterable[Question]:
    return tqdm(questions, desc=label.strip(), unit="question", leave=False, disable=not progress)


# --- quality


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Hold back the cycle collector, which would walk every hit kept so far, over and over, and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _ask(
    retriever: BaseRetriever, question: Question, depth: int, locator: Locator, filters: Mapping[str, str]
) -> _Answer:
    answer = _Answer(question)
    try:
        answer.hits, answer.details = _hits(retriever, question.q, depth)
        answer.error = _broken_contract(answer.hits) or _forbidden(answer.hits, filters) or _degraded(answer.details)
        answer.places = [locator.locate(hit.node) for hit in answer.hits]
    except Exception as error:
        answer.error = answer.error or _describe(error)
    return answer


def _describe(error: Exception) -> str:
    text = _one_line(str(error))
    return text if isinstance(error, RunError) else f"{type(error).__name__}: {text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _hits(retriever: BaseRetriever, query: str, depth: int) -> tuple[list[NodeWithScore], dict[str, Any]]:
    if not isinstance(retriever, _Searchable):
        return list(retriever.retrieve(query))[:depth], {}
    result = retriever.search(query, top_k=depth)
    names = ("route", "reason", "weak_match", "dropped", "degraded")
    return list(result.hits)[:depth], {name: getattr(result, name, None) for name in names}


def _degraded(details: Mapping[str, Any]) -> str | None:
    """A stage that was passed over: what answered is not the configuration that the report would name."""
    skipped = [
        f"{one.get('stage')}: {one.get('reason')}" if isinstance(one, Mapping) else str(one)
        for one in details.get("degraded") or ()
    ]
    if not skipped:
        return None
    return f"a stage failed and was skipped ({_one_line('; '.join(skipped))}); mend it or leave it out"


def _broken_contract(hits: Sequence[NodeWithScore]) -> str | None:
    """What makes these hits no ranking, or ``None``."""
    seen: dict[Any, int] = {}
    last: float | None = None
    for rank, hit in enumerate(hits, start=1):
        if hit.node.node_id in seen:
            return f"node {hit.node.node_id!r} is at ranks {seen[hit.node.node_id]} and {rank}; return each node once"
        seen[hit.node.node_id] = rank
        if (before := seen.setdefault(_stated_place(hit), rank)) != rank:
            return f"the same text of the same lines is at ranks {before} and {rank} under two ids; index it once"
        if hit.score is None:
            continue
        if math.isnan(hit.score):
            return f"the score at rank {rank} is NaN; find the stage that made it"
        if last is not None and hit.score > last:
            return f"the score at rank {rank} ({hit.score:g}) is above the one before ({last:g}); sort by score"
        last = hit.score
    return None


def _stated_place(hit: NodeWithScore) -> Any:
    """What two hits share only if they are one chunk; without stated lines nothing but the node itself.

    Lines alone do not do: a long line is cut into several chunks.
    """
    data = hit.node.metadata
    place = (data.get("path"), data.get("start_line"), data.get("end_line"))
    return id(hit) if None in place else (*place, hit.node.get_content(metadata_mode=MetadataMode.NONE))


def _filters(config: Mapping[str, Any]) -> dict[str, str]:
    """The filters that `rungs.settings.Settings` has in force; another's setting of such a name may mean anything."""
    names = ("category", "language", "path_prefix") if "search_mode" in config else ()
    return {name: str(config[name]) for name in names if config.get(name)}


def _forbidden(hits: Sequence[NodeWithScore], filters: Mapping[str, str]) -> str | None:
    """A hit that the filter in force does not allow: the filter is in the report and never reached the search."""
    for name, wanted in filters.items():
        for rank, hit in enumerate(hits, start=1):
            value = str(hit.node.metadata.get("path" if name == "path_prefix" else name, ""))
            fits = value.startswith(wanted) if name == "path_prefix" else value in re.split(r"[,\s]+", wanted)
            if not fits:
                return f"the hit at rank {rank} is {value!r}, and {name} allows {wanted!r} only; filter every channel"
    return None


def _all_empty(answers: Sequence[_Answer]) -> str | None:
    """Not one hit for any question that has an answer: a search that is not connected, and not a poor one.

    An empty list that the retriever accounts for, by hits it dropped or a match it calls weak, is an abstention.
    """
    asked = [answer for answer in answers if not answer.question.negative]
    silent = [a for a in asked if not (a.hits or a.error or a.details.get("dropped") or a.details.get("weak_match"))]
    if not asked or len(silent) < len(asked):
        return None
    return (
        f"no hits for any of the {len(asked)} questions with an answer; check the index and what the filters let pass"
    )


# --- report


def _report(retriever: BaseRetriever, golden: Golden, answers: Sequence[_Answer], times: Times, pooled: bool) -> Report:
    nothing = _all_empty(answers)
    for answer in answers:
        if (raised := times.errors.get(answer.question.id)) is not None:
            answer.error = answer.error or f"while timed: {_describe(raised)}"
        if nothing and not answer.question.negative:
            answer.error = answer.error or nothing
    judgements = [judge(a.question, a.places, pooled=pooled) for a in answers]
    figures = score([_judged(a, j) for a, j in zip(answers, judgements, strict=True)])
    failed = any(answer.error for answer in answers)
    config = _config(retriever)
    return Report(
        config=config,
        corpus={"name": golden.corpus.name, "sha256": golden.corpus.sha256},
        golden={"name": golden.name, "sha256": golden.sha256},
        model=_model(retriever, config),
        n=len(answers),
        metrics=aggregate(() if failed else figures),
        by_kind=_by_kind(golden, answers, () if failed else figures),
        calibration=_calibration(() if failed else answers),
        latency=times.summary(),
        cases=[
            _case(answer, judgement, row, times.ms.get(answer.question.id))
            for answer, judgement, row in zip(answers, judgements, figures, strict=True)
        ],
        status="FAILED" if failed else "ok",
        depth=max(len(answer.hits) for answer in answers),
        pooled=pooled,
    )


def _judged(answer: _Answer, judgement: Judgement) -> Judged:
    # tokens are read up to the first label found; the texts after it need not be rendered
    texts = [hit.node.get_content(metadata_mode=MetadataMode.NONE) for hit in answer.hits[: judgement.first or 0]]
    return Judged(answer.question, judgement, texts, answer.abstained)


def _by_kind(
    golden: Golden, answers: Sequence[_Answer], figures: Sequence[Mapping[str, float | None]]
) -> dict[str, dict[str, dict[str, Any]]]:
    rows = [(answer.question.kind, row) for answer, row in zip(answers, figures, strict=False)]
    return {kind: aggregate(row for of, row in rows if of == kind) for kind in golden.kinds}


def _calibration(answers: Sequence[_Answer]) -> dict[str, float | None]:
    """Where the best dense score lies for questions with an answer and without: what score bands are set from."""
    tops = [(answer.question.negative, _top_dense(answer.hits)) for answer in answers]
    positive = [top for negative, top in tops if not negative and top is not None]
    negative = [top for negative, top in tops if negative and top is not None]
    return {
        "positive_min_top_dense": min(positive, default=None),
        "positive_median_top_dense": statistics.median(positive) if positive else None,
        "negative_median_top_dense": statistics.median(negative) if negative else None,
        "negative_max_top_dense": max(negative, default=None),
    }


def _top_dense(hits: Sequence[NodeWithScore]) -> float | None:
    scores = (hit.node.metadata.get("scores") or {} for hit in hits)
    return max((float(s["dense"]) for s in scores if s.get("dense") is not None), default=None)


def _case(
    answer: _Answer, judgement: Judgement, figures: Mapping[str, float | None], ms: float | None
) -> dict[str, Any]:
    question, failed = answer.question, answer.error is not None
    labels = zip((*question.expect, *question.also), (*judgement.found, *judgement.found_also), strict=False)
    return {
        "id": question.id,
        "q": question.q,
        "kind": question.kind,
        "mode": question.mode,
        "expect": _texts(question.expect),
        "also": _texts(question.also),
        "found": {} if failed else {label.text: rank for label, rank in labels},
        "first_rank": None if failed else judgement.first,
        "abstained": None if failed else answer.abstained,
        "metrics": None if failed else dict(figures),
        "ms": ms,
        "error": answer.error,
        **answer.details,
        "hits": [_hit(answer, judgement, rank) for rank in range(1, len(answer.hits) + 1)],
    }


def _texts(labels: Sequence[Label]) -> list[str]:
    return [label.text for label in labels]


def _hit(answer: _Answer, judgement: Judgement, rank: int) -> dict[str, Any]:
    hit = answer.hits[rank - 1]
    place = answer.places[rank - 1] if rank <= len(answer.places) else None
    return {
        "rank": rank,
        "id": hit.node.node_id,
        "path": place.path if place else None,
        "symbol": hit.node.metadata.get("symbol", ""),
        "category": hit.node.metadata.get("category", ""),
        "start_line": place.start_line if place else None,
        "end_line": place.end_line if place else None,
        "score": hit.score,
        "scores": dict(hit.node.metadata.get("scores") or {}),
        "relevant": judgement.relevant[rank - 1] if place else None,
    }


# --- what was measured


def _config(retriever: BaseRetriever) -> dict[str, Any]:
    """Every setting in force: what the retriever says, or its plain attributes where it says nothing."""
    name = f"{type(retriever).__module__}.{type(retriever).__qualname__}"
    stated = getattr(retriever, "config", None)
    if callable(stated):
        return {"retriever": name} | dict(stated())
    plain = {key.lstrip("_"): value for key, value in vars(retriever).items() if _is_setting(key, value)}
    return {"retriever": name} | plain


def _is_setting(key: str, value: Any) -> bool:
    secret = any(word in key.lower() for word in ("key", "token", "secret", "password", "credential"))
    return isinstance(value, str | int | float | bool) and not secret


def _model(retriever: BaseRetriever, config: Mapping[str, Any]) -> str | None:
    if hasattr(retriever, "embed_model"):  # a funnel whose channel embeds nothing used no model, whatever is configured
        return getattr(retriever.embed_model, "model_name", None)
    if config.get("embed_model"):
        return str(config["embed_model"])
    return getattr(getattr(retriever, "_embed_model", None), "model_name", None)
