"""Every question judged once, a few at a time; what could not be judged is in the run, by name and reason."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from tqdm.auto import tqdm

from rungs.errors import RunError
from rungs.measure.crosscheck import run_async
from rungs.measure.golden import Golden
from rungs.measure.intervals import estimate
from rungs.measure.judged.model import Model
from rungs.measure.judged.prompt import answer_prompt, prompt_sha256
from rungs.measure.judged.reading import Reading, measured, readings_of, with_reference
from rungs.measure.judged.result import JUDGED, JudgedRun, pass_marks, share_near
from rungs.measure.judged.scoring import quiet_ragas, ragas_metrics, score
from rungs.measure.report import Report
from rungs.settings import NO_KEY, Endpoint

__all__ = ["judge_run"]


def judge_run(
    source: BaseRetriever | Report,
    golden: Golden,
    endpoint: Endpoint,
    *,
    embed_model: BaseEmbedding,
    top_k: int = 8,
    mark: float = 0.5,
    reference: Literal["why", "source"] = "why",
    workers: int = 4,
    give_up_after: int = 5,
    progress: bool = True,
) -> JudgedRun:
    """Have answers written from the hits, and have them judged.

    Parameters
    ----------
    source
        A LlamaIndex retriever, or a report on this golden file: then the texts are those of the corpus at its hits' lines.
    golden
        The questions; those without an answer are left out.
    endpoint
        The language model that writes and judges. About ``7 + top_k`` calls a question.
    embed_model
        Embeds questions for ``answer_relevancy``.
    top_k
        Hits that an answer is written from.
    mark
        A score from here on is "correct".
    reference
        What judged precision and recall are held against: the line's ``why``, or the source of its labels.
    workers
        Questions in flight at a time.
    give_up_after
        Failed questions after which no more are asked: the run is FAILED and calls may cost. Those left are FAILED too.
    progress
        Show a bar on stderr.

    Returns
    -------
    JudgedRun
        Status FAILED, with the reason in the question's row, if any question could not be judged.

    Raises
    ------
    RunError
        When no question has an answer, a report is of other questions, or a number is out of range.

    Examples
    --------
    >>> run = judge_run(funnel, golden, Endpoint.from_environment(), embed_model=embedder)  # doctest: +SKIP
    >>> run.metrics["faithfulness"]  # doctest: +SKIP
    {'value': 0.81, 'low': 0.74, 'high': 0.87, 'n': 108}
    """
    _check(top_k, mark, workers, give_up_after, reference)
    questions = [question for question in golden.questions if not question.negative]
    if not questions:
        raise RunError(f"{golden.path}: no question has an answer; there is nothing to judge")
    report = measured(source, golden, top_k, progress)
    readings = [with_reference(r, golden, reference) for r in readings_of(source, report, golden, questions, top_k)]
    bar = tqdm(total=len(readings), desc="judging", unit="question", leave=False, disable=not progress)
    with bar, quiet_ragas():
        cases = run_async(lambda: _judge_all(readings, endpoint, embed_model, workers, give_up_after, bar))
    failed = any(case["error"] for case in cases)
    scores = {} if failed else {name: [case["scores"][name] for case in cases] for name in JUDGED}
    return JudgedRun(
        taken=datetime.now(UTC).isoformat(),
        config=report.to_dict()["config"],
        corpus={"name": golden.corpus.name, "sha256": golden.corpus.sha256},
        golden={"name": golden.name, "sha256": golden.sha256},
        model=report.model,
        judge=endpoint.to_dict()
        | {"ragas": version("ragas"), "prompt": prompt_sha256(), "top_k": top_k, "reference": reference},
        n=len(cases),
        negatives=len(golden.questions) - len(cases),
        mark=mark,
        metrics={name: estimate(scores.get(name, ())) for name in JUDGED},
        marks={name: pass_marks(values) for name, values in scores.items()},
        near_mark={name: share_near(values, mark) for name, values in scores.items()},
        cases=cases,
        status="FAILED" if failed else "ok",
    )


def _check(top_k: int, mark: float, workers: int, give_up_after: int, reference: str) -> None:
    for name, value in (("top_k", top_k), ("workers", workers), ("give_up_after", give_up_after)):
        if value < 1:
            raise RunError(f"{name} is {value}; give 1 or more")
    if not 0 <= mark <= 1:
        raise RunError(f"the pass mark is {mark:g}; scores lie between 0 and 1")
    if reference not in ("why", "source"):
        raise RunError(f"reference {reference!r} is unknown; use 'why' or 'source'")


async def _judge_all(
    readings: Sequence[Reading],
    endpoint: Endpoint,
    embed_model: BaseEmbedding,
    workers: int,
    give_up_after: int,
    bar: Any,
) -> list[dict[str, Any]]:
    from llama_index.llms.openai_like import OpenAILike
    from openai import AsyncOpenAI

    places = asyncio.Semaphore(workers)
    failed: list[str] = []
    async with AsyncOpenAI(
        api_key=endpoint.api_key, base_url=endpoint.api_base, timeout=endpoint.timeout, max_retries=endpoint.retries
    ) as client:
        llm = OpenAILike(
            model=endpoint.model,
            api_base=endpoint.api_base,
            api_key=endpoint.api_key,
            is_chat_model=True,
            max_retries=0,  # the client retries; both would multiply
            async_openai_client=client,
        )
        model = Model(llm, endpoint)
        metrics = ragas_metrics(model, embed_model)

        async def one(reading: Reading) -> dict[str, Any]:
            async with places:
                if len(failed) >= give_up_after:
                    case = _case(reading, error=f"not asked: {len(failed)} questions had failed by then")
                else:
                    case = await _judge(reading, model, metrics, endpoint)
            if case["error"]:
                failed.append(case["id"])
            bar.update()
            return case

        return await asyncio.gather(*(one(reading) for reading in readings))


def _case(
    reading: Reading, answer: str | None = None, scores: Mapping[str, float] | None = None, error: str | None = None
) -> dict[str, Any]:
    question = reading.question
    return {
        "id": question.id,
        "q": question.q,
        "kind": question.kind,
        "contexts": list(reading.places),
        "answer": answer,
        "scores": dict.fromkeys(JUDGED) | dict(scores or {}),
        "error": error,
    }


async def _judge(reading: Reading, model: Model, metrics: Mapping[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    if reading.error:
        return _case(reading, error=reading.error)
    if not reading.texts:
        return _case(reading, scores=dict.fromkeys(JUDGED, 0.0))
    answer, scores, step = None, {}, "answer"
    try:
        answer = await model.ask(answer_prompt(reading))
        for step in JUDGED:
            scores[step] = await score(metrics[step], reading, answer)
    except Exception as error:
        return _case(reading, answer, scores, f"{step}: {_reason(error, endpoint.api_key)}")
    return _case(reading, answer, scores)


def _reason(error: Exception, key: str) -> str:
    """One line, from which a key that a server sent back is taken out."""
    name = type(error).__name__
    if name == "RagasOutputParserException":
        said = "the reply is JSON of another shape than was asked for, and the model could not mend it"
    else:
        said = str(error) if isinstance(error, RunError) else f"{name}: {error}"
    if key != NO_KEY:
        said = said.replace(key, "[key]")
    return " ".join(said.split())[:300]
