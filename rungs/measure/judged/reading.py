"""What is read for each question: the texts that were retrieved, and what a judge holds them against."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode

from rungs.measure.crosscheck import check_same_questions, expected_texts, source_text
from rungs.measure.evaluate import evaluate
from rungs.measure.golden import Golden, Question
from rungs.measure.locate import Location
from rungs.measure.report import Report

__all__ = ["Reading", "measured", "readings_of", "with_reference"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A question, the texts that were retrieved for it, and what a judge holds them against; or why there are none."""

    question: Question
    texts: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    reference: str = ""
    error: str | None = None


def measured(source: BaseRetriever | Report, golden: Golden, top_k: int, progress: bool) -> Report:
    """The hits as `evaluate` sees them, with all it refuses."""
    if not isinstance(source, Report):
        return evaluate(source, golden, depth=top_k, latency=False, progress=progress)
    check_same_questions(source, golden)
    return source


def readings_of(
    source: BaseRetriever | Report, report: Report, golden: Golden, questions: Sequence[Question], top_k: int
) -> Iterator[Reading]:
    """For each question the texts of its hits; or why they cannot be had."""
    cases = {case["id"]: case for case in report.cases}
    for question in questions:
        case = cases[question.id]
        if case["error"]:
            yield Reading(question, error=case["error"])
            continue
        hits = case["hits"][:top_k]
        texts = None if isinstance(source, Report) else _texts(source, question.q, top_k)
        if texts is not None and list(texts) != [hit["id"] for hit in hits]:
            yield Reading(question, error="asked twice, the retriever gave two lists of hits; make it repeatable")
            continue
        places = [Location(hit["path"], hit["start_line"], hit["end_line"]) for hit in hits]
        whole = [source_text(golden.corpus, place.path, place.start_line, place.end_line) for place in places]
        shown = [(texts or {}).get(hit["id"], "") for hit in hits]
        # a hit that was read back from a file may be a place without a text
        read = [text if text.strip() else lines for text, lines in zip(shown, whole, strict=True)]
        yield Reading(question, tuple(read), tuple(map(_shown, places)))


def _texts(retriever: Any, query: str, top_k: int) -> dict[str, str]:
    """The texts a reader is shown, by node id, in order: a stage may have shortened or rewritten the source."""
    hits = retriever.search(query, top_k=top_k).hits if hasattr(retriever, "search") else retriever.retrieve(query)
    return {hit.node.node_id: hit.node.get_content(metadata_mode=MetadataMode.NONE) for hit in hits[:top_k]}


def _shown(place: Location) -> str:
    return place.path if place.start_line is None else f"{place.path}:{place.start_line}-{place.end_line}"


def with_reference(reading: Reading, golden: Golden, reference: str) -> Reading:
    """With what the judge holds the texts against; without any, the reading is an error."""
    question = reading.question
    source = "\n\n".join(expected_texts(question, golden.corpus)) if reference == "source" else ""
    text = source or question.why.strip()
    error = reading.error or (None if text else "has no `why` to be judged against; write one, or use the source")
    return Reading(question, reading.texts, reading.places, text, error)
