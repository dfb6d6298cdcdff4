"""Results that somebody else's program wrote, as a retriever that can be measured.

Two formats: JSON lines as ``rungs run`` writes them, ``{"id", "hits": [{"path", "start_line", "end_line", "score"}]}``,
and TREC run files, ``qid Q0 docid rank score tag``, whose document ids are ``path`` or ``path:start-end``.
"""

import math
import re
import reprlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType, TextNode

from rungs.corpus import Corpus
from rungs.errors import RunError
from rungs.measure.golden import Golden
from rungs.measure.textfiles import json_lines, read_text

__all__ = ["RunRetriever", "load_run"]

_SPAN = re.compile(r"^(?P<path>.+):(?P<start>\d{1,9})-(?P<end>\d{1,9})$")


class RunRetriever(BaseRetriever):
    """Answers the questions of a golden file with the hits of a run.

    A question the run does not mention raises, so that the measurement is FAILED instead of counting a miss: a system
    that found nothing says so with an empty list of hits.
    """

    def __init__(self, hits: dict[str, list[NodeWithScore]], golden: Golden, source: str) -> None:
        super().__init__()
        self._hits = hits
        self._ids = {question.q: question.id for question in golden.questions}
        self.source = source

    def retrieve(self, str_or_query_bundle: QueryType) -> list[NodeWithScore]:
        """As any retriever's, with the repeats that LlamaIndex would drop: they make the measurement FAILED."""
        text = str_or_query_bundle
        return self._retrieve(QueryBundle(text) if isinstance(text, str) else text)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        id_ = self._ids.get(query_bundle.query_str)
        if id_ not in self._hits:
            raise RunError(f"{self.source} has no line for question {id_!r}; answer every question, if with no hits")
        return self._hits[id_]

    def config(self) -> dict[str, Any]:
        """Where the hits come from."""
        return {"run": self.source}


def load_run(path: str | Path, golden: Golden) -> RunRetriever:
    """Read a run file.

    Parameters
    ----------
    path
        JSON lines or a TREC run; told apart by the first character.
    golden
        The questions it answers; ids it has beyond those are an error, since they are answers to something else.

    Raises
    ------
    RunError
        When the file or a line of it cannot be used; the message names the line and what to write.
    """
    path = Path(path)
    text = read_text(path, RunError)
    if not text.strip():
        raise RunError(f"{path}: holds no results; write one line a question")
    read = _read_json_lines if text.lstrip().startswith("{") else _read_trec
    hits = read(path, text, golden.corpus)
    known = {question.id for question in golden.questions}
    if strangers := [id_ for id_ in hits if id_ not in known]:
        raise RunError(f"{path}: id {strangers[0]!r} is no question of {golden.name}; give the run of that golden file")
    return RunRetriever(hits, golden, path.name)


def _read_json_lines(path: Path, text: str, corpus: Corpus) -> dict[str, list[NodeWithScore]]:
    found: dict[str, list[NodeWithScore]] = {}
    for number, row in json_lines(path, RunError, text):
        where = f"{path}:{number}"
        if not isinstance(row, dict) or "id" not in row or not isinstance(row.get("hits"), list):
            raise RunError(f'{where}: needs "id" and a list under "hits"; write what `rungs run` writes')
        id_ = str(row["id"])
        if id_ in found:
            raise RunError(f"{where}: question {id_!r} stands twice; answer it once")
        found[id_] = [_json_hit(where, rank, hit, corpus) for rank, hit in enumerate(row["hits"], 1)]
    return found


def _json_hit(where: str, rank: int, hit: Any, corpus: Corpus) -> NodeWithScore:
    if not isinstance(hit, dict) or not isinstance(hit.get("path"), str):
        raise RunError(f'{where}: hit {rank} has no text under "path"; name the file it is from')
    span = (hit.get("start_line"), hit.get("end_line"))
    if span != (None, None) and not all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in span):
        raise RunError(f"{where}: hit {rank} has no whole numbers under start_line and end_line; count lines from 1")
    score = hit.get("score")
    if score is not None and not _is_finite(score):
        said = reprlib.repr(score)
        raise RunError(f"{where}: hit {rank} has score {said}, which is no finite number; leave it out or mend it")
    value = float(score) if score is not None else -float(rank)
    return _hit(where, rank, hit["path"], span, value, corpus, hit.get("text"))


def _is_finite(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def _read_trec(path: Path, text: str, corpus: Corpus) -> dict[str, list[NodeWithScore]]:
    rows: dict[str, list[tuple[float, int, NodeWithScore]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not (parts := line.split()):
            continue
        where = f"{path}:{number}"
        if len(parts) < 6:
            raise RunError(f"{where}: a TREC line has six fields (qid Q0 docid rank score tag), this one {len(parts)}")
        # a path may hold spaces; the other fields may not
        id_, doc, rank, score = parts[0], " ".join(parts[2:-3]), parts[-3], parts[-2]
        value = _number(score, float)
        place = _number(rank, int)
        if value is None or place is None or not math.isfinite(value):
            raise RunError(f"{where}: rank {reprlib.repr(rank)} and score {reprlib.repr(score)} must be numbers")
        match = _SPAN.match(doc)
        name, span = (match["path"], (int(match["start"]), int(match["end"]))) if match else (doc, (None, None))
        rows.setdefault(id_, []).append((-value, int(place), _hit(where, int(place), name, span, value, corpus)))
    # as trec_eval does: by score, the rank column only settling ties
    return {id_: [hit for *_, hit in sorted(found, key=lambda row: row[:2])] for id_, found in rows.items()}


def _number(text: str, kind: Callable[[str], float]) -> float | None:
    try:
        return kind(text)
    except ValueError:
        return None


def _hit(
    where: str,
    rank: int,
    path: str,
    span: tuple[int | None, int | None],
    score: float,
    corpus: Corpus,
    said: Any = None,
) -> NodeWithScore:
    """A node with the lines it claims, read from the corpus, so that what it costs to read is counted right.

    Only a piece of one long line is taken as ``said``: several of them claim the same line and are no repeats.
    """
    file = corpus.get(path)
    if file is None:
        raise RunError(f"{where}: hit {rank} names {path!r}, which is not in corpus {corpus.name!r}; check the paths")
    start, end = span[0] or 1, span[1] or len(file.lines)
    if not 1 <= start <= end <= max(1, len(file.lines)):
        raise RunError(f"{where}: hit {rank} names lines {start}-{end} of {path}, which has {len(file.lines)}")
    text = "\n".join(file.lines[start - 1 : end])
    id_ = f"{path}:{start}-{end}"
    if start == end and isinstance(said, str) and said.strip() and said in text:
        id_, text = f"{id_}, from {text.index(said)}" if said != text else id_, said
    metadata = {"path": path, "start_line": start, "end_line": end}
    return NodeWithScore(node=TextNode(id_=id_, text=text, metadata=metadata), score=score)
