"""What the tests of this folder are made of: a few files, golden lines, hits, and retrievers that follow a script."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rungs.measure import METRICS, Golden, Report, evaluate

TASKS = (
    '''"""Tasks."""


class Task:
    """One unit of work."""

    name = "task"

    def retry(self, delay):
        """Try again later."""
        later = self.now() + delay
        return self.send(later)

    def run(self):
        return None


def send(message):
    body = encode(message)
    return body


def long(n):
'''
    + "".join(f"    n += {i}\n" for i in range(60))
    + "    return n\n"
)

RETRY = "pkg/tasks.py::Task.retry"
SEND = "pkg/tasks.py::send"
LONG = "pkg/tasks.py::long"
GUIDE = "docs/guide.md"


def line(id: str, expect: Sequence[str] = (RETRY,), **changes: Any) -> dict[str, Any]:
    """A golden line that is right in every way, but for ``changes``."""
    row = {"id": id, "q": f"where is {id}?", "expect": list(expect), "mode": "any", "kind": "prose-en"}
    return row | {"difficulty": "easy", "why": "it says so", "also": []} | changes


def negative(id: str, **changes: Any) -> dict[str, Any]:
    return line(id, (), **{"kind": "negative-far"} | changes)


def hit(
    id: str, start: int, end: int, score: float | None = 1.0, path: str = "pkg/tasks.py", **metadata: Any
) -> NodeWithScore:
    where = {"path": path, "start_line": start, "end_line": end}
    return NodeWithScore(node=TextNode(id_=id, text=f"text of {id}", metadata=where | metadata), score=score)


class Scripted(BaseRetriever):
    """Answers each query with the hits written down for it; an exception in their place is raised."""

    def __init__(self, answers: Mapping[str, list[NodeWithScore] | Exception]) -> None:
        super().__init__()
        self._answers = answers
        self.asked: list[str] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        answer = self._answers.get(query_bundle.query_str, [])
        if isinstance(answer, Exception):
            raise answer
        return answer


class Searching(BaseRetriever):
    """A funnel in miniature: channels that can be swapped, a stage over their hits, and a signal."""

    def __init__(
        self,
        channels: Mapping[str, BaseRetriever],
        stage: Callable[[list[NodeWithScore]], list[NodeWithScore]] = lambda hits: hits,
        **signals: Any,
    ) -> None:
        super().__init__()
        self.channels = dict(channels)
        self._stage = stage
        self._signals = {"weak_match": False, "dropped": 0, "degraded": []} | signals
        self.depths: list[int | None] = []

    def with_channels(self, channels: dict[str, BaseRetriever]) -> "Searching":
        other = Searching(channels, self._stage, **self._signals)
        other.depths = self.depths
        return other

    def config(self) -> dict[str, Any]:
        return {"embed_model": "toy", "top_k": 8}

    def search(self, query: str, top_k: int | None = None) -> SimpleNamespace:
        self.depths.append(top_k)
        hits = [found for channel in self.channels.values() for found in channel.retrieve(query)]
        hits = self._stage(hits)[: top_k or 8]
        return SimpleNamespace(query=query, route="all", reason="toy", hits=hits, **self._signals)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.search(query_bundle.query_str).hits


def answers() -> dict[str, list[NodeWithScore]]:
    """What a middling retriever finds for the questions of the ``golden`` fixture."""
    dense = {"scores": {"dense": 0.7}}
    return {
        "where is retry?": [hit("run", 14, 15, 0.9, **dense), hit("retry", 9, 12, 0.8, scores={"dense": 0.8, "b": 3})],
        "where is send?": [hit("send", 18, 20, 0.6, scores={"dense": 0.6})],
        "where is both?": [hit("send", 18, 20, 0.6, scores={"bm25": 2.0})],
        "where is resort?": [hit("g", 1, 3, 0.5, path=GUIDE, scores={"dense": 0.5})],
    }


def quiet(retriever: BaseRetriever, golden: Golden, **options: Any) -> Report:
    """Measure without a bar and without timing."""
    return evaluate(retriever, golden, **{"latency": False, "progress": False} | options)


def report(
    values, *, ranks=None, golden="g" * 64, corpus="c" * 64, hits=None, config=None, metric="recall@8"
) -> Report:
    """A report whose questions scored ``values`` on one metric; a None is a negative."""
    cases = []
    for i, value in enumerate(values):
        figures = dict.fromkeys(METRICS)
        if value is not None:
            figures[metric] = float(value)
        cases.append(
            {
                "id": f"q{i}",
                "q": f"question {i}",
                "kind": "prose-en",
                "expect": ["a.py"],
                "metrics": figures,
                "error": None,
                "first_rank": ranks[i] if ranks else (1 if value else None),
                "hits": [{"id": h} for h in (hits[i] if hits else [f"h{i}{value}"])],
            }
        )
    return Report(
        config=config or {},
        corpus={"name": "c", "sha256": corpus},
        golden={"name": "g", "sha256": golden},
        model=None,
        n=len(cases),
        metrics={},
        by_kind={},
        calibration={},
        latency={},
        cases=cases,
        status="ok",
        depth=40,
    )
