"""Solutions to the exercises of `02_dense.ipynb`.

Run them with ``python notebooks/solutions/02_dense.py``; the tests do.
"""

from dataclasses import replace
from pathlib import Path

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs import Workbench, evaluate, load_golden, plots
from rungs.ladder import climb
from rungs.measure import Golden, Report


def moves(new: Report, old: Report, metric: str = "recall@8", kind: str | None = None) -> tuple[int, int]:
    """How many questions got better and how many worse, of those that both were asked."""
    before = {case["id"]: case for case in old.cases}
    found = [
        case["metrics"][metric] - before[case["id"]]["metrics"][metric]
        for case in new.cases
        if case["expect"] and kind in (None, case["kind"])
    ]
    return sum(move > 0 for move in found), sum(move < 0 for move in found)


def exercise_1(bench: Workbench, golden: Golden) -> tuple[int, int]:
    """Only kombu's paths, for the questions whose answers all lie there: better and worse by recall@8.

    It may not enter the ladder: the filter was chosen by looking at the answers. A real user does not know them.
    """
    there = [q for q in golden.questions if q.expect and all(label.path.startswith("kombu/") for label in q.expect)]
    narrowed = replace(golden, name="celery-kombu", questions=tuple(there))
    funnel = bench.funnel(search_mode="dense", path_prefix="kombu/")
    filtered = evaluate(funnel, narrowed, latency=False, progress=False)
    return moves(filtered, climb(bench, golden, progress=False).reports["dense"])


def exercise_2(bench: Workbench, golden: Golden) -> dict[str, plots.Threshold]:
    """The best threshold against the absurd negatives alone, and against the plausible ones alone.

    A golden file whose negatives are all absurd would have told you that a threshold works.
    """
    cases = climb(bench, golden, progress=False).reports["dense"].cases
    top = {case["id"]: max(hit["scores"]["dense"] for hit in case["hits"]) for case in cases}
    positive = [top[case["id"]] for case in cases if case["expect"]]
    return {
        kind: plots.best_threshold(positive, [top[case["id"]] for case in cases if case["kind"] == kind])
        for kind in ("negative-far", "negative-near")
    }


class CodeFirst(BaseRetriever):
    """Moves the first four hits in code to the front, in their order.

    The order is no longer that of the cosines, so the score that orders the list is the rank's own; each hit still
    carries its cosine under ``metadata["scores"]``.
    """

    def __init__(self, inner: BaseRetriever, moved: int = 4) -> None:
        super().__init__()
        self.inner = inner
        self.moved = moved

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.inner.retrieve(query_bundle)
        front = [hit for hit in hits if hit.node.metadata["category"] == "code"][: self.moved]
        moved = {hit.node.node_id for hit in front}
        ordered = front + [hit for hit in hits if hit.node.node_id not in moved]
        return [NodeWithScore(node=hit.node, score=1 / rank) for rank, hit in enumerate(ordered, start=1)]


def exercise_3(bench: Workbench, golden: Golden) -> dict[str, tuple[int, int]]:
    """Code first against plain dense: better and worse by recall@8, by kind. Whoever asks for a document pays."""
    dense = bench.funnel(search_mode="dense", top_k=40)
    report = evaluate(CodeFirst(dense), golden, latency=False, progress=False)
    plain = climb(bench, golden, progress=False).reports["dense"]
    return {kind: moves(report, plain, kind=kind) for kind in golden.kinds if not kind.startswith("negative")}


if __name__ == "__main__":
    from rungs import Settings

    bench = Workbench(Settings())
    golden = load_golden(Path(__file__).parents[2] / "golden" / "celery.jsonl", bench.corpus)
    for solve in (exercise_1, exercise_2, exercise_3):
        print(f"{solve.__name__}: {solve(bench, golden)}")
