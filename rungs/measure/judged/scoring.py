"""The scores of ragas, with every verdict checked that a model gave for them."""

import copy
import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding

from rungs.errors import RunError
from rungs.measure.crosscheck import ragas_metric
from rungs.measure.judged.model import Model
from rungs.measure.judged.prompt import DATA_ONLY
from rungs.measure.judged.reading import Reading
from rungs.measure.judged.result import JUDGED

__all__ = ["quiet_ragas", "ragas_metrics", "score"]

_QUESTIONS_BACK = 3


def ragas_metrics(model: Model, embed_model: BaseEmbedding) -> dict[str, Any]:
    """The metrics by their names in `JUDGED`, each with prompts of its own."""
    faithfulness = ragas_metric("Faithfulness", llm=model)
    relevancy = ragas_metric(
        "ResponseRelevancy", llm=model, embeddings=_Embedder(embed_model), strictness=_QUESTIONS_BACK
    )
    precision = ragas_metric("LLMContextPrecisionWithReference", llm=model)
    recall = ragas_metric("LLMContextRecall", llm=model)
    for metric, prompt, check in (
        (faithfulness, "statement_generator_prompt", None),
        (faithfulness, "nli_statements_prompt", _check_statements),
        (relevancy, "question_generation", _check_question_back),
        (precision, "context_precision_prompt", _check_usefulness),
        (recall, "context_recall_prompt", _check_attributions),
    ):
        _tighten(metric, prompt, check)
    return dict(zip(JUDGED, (faithfulness, relevancy, precision, recall), strict=True))


def _tighten(metric: Any, name: str, check: Any) -> None:
    """Give a metric a prompt of its own (ragas shares some) that says what data is, and checks what comes back."""
    prompt = copy.deepcopy(getattr(metric, name))
    prompt.instruction += DATA_ONLY
    if check is not None:
        prompt.process_output = check
    setattr(metric, name, prompt)


def _check_statements(output: Any, data: Any) -> Any:
    if len(output.statements) != len(data.statements):
        raise RunError(f"{len(output.statements)} verdicts came back for {len(data.statements)} statements")
    _check_verdicts([statement.verdict for statement in output.statements])
    return output


def _check_question_back(output: Any, _data: Any) -> Any:
    if not output.question.strip():
        raise RunError("the question made back from the answer is empty")
    _check_verdicts([output.noncommittal])
    return output


def _check_usefulness(output: Any, _data: Any) -> Any:
    _check_verdicts([output.verdict])
    return output


def _check_attributions(output: Any, _data: Any) -> Any:
    _check_verdicts([sentence.attributed for sentence in output.classifications])
    return output


def _check_verdicts(verdicts: Sequence[int]) -> None:
    wrong = [verdict for verdict in verdicts if verdict not in (0, 1)]
    if wrong:
        raise RunError(f"a verdict is {wrong[0]}, neither 0 nor 1")


async def score(metric: Any, reading: Reading, answer: str) -> float:
    """One score of one answer.

    Raises
    ------
    RunError
        When it is NaN or out of range.
    """
    from ragas.dataset_schema import SingleTurnSample

    sample = SingleTurnSample(
        user_input=reading.question.q,
        response=answer,
        retrieved_contexts=list(reading.texts),
        reference=reading.reference,
    )
    score = float(await metric.single_turn_ascore(sample))
    if math.isnan(score):
        raise RunError("the score is NaN: the judge found nothing to score")
    if not -1 - 1e-6 <= score <= 1 + 1e-6:  # a cosine may be below 0, and a rounding error above 1
        raise RunError(f"the score is {score:g}, outside what it can be")
    return max(-1.0, min(1.0, score))


@contextmanager
def quiet_ragas() -> Iterator[None]:
    """Hold back what ragas logs about replies it could not read: each is in the run, with its question."""
    logger = logging.getLogger("ragas")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class _Embedder:
    """Our embedding model as ragas asks it. Questions are compared with questions, so both sides are embedded as such."""

    def __init__(self, embed_model: BaseEmbedding) -> None:
        self._embed_model = embed_model

    def embed_query(self, text: str) -> list[float]:
        return self._embed_model.get_query_embedding(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]
