"""Solutions to the exercises of `01_naive.ipynb`.

Run them with ``python notebooks/solutions/01_naive.py``; the tests do.
"""

import math
from pathlib import Path

import numpy as np
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs import Workbench, evaluate, load_golden
from rungs.corpus.cutting import windows
from rungs.grep import TermCountRetriever
from rungs.hits import make_hit
from rungs.ladder import ROWS, climb
from rungs.measure import Golden, Label


def exercise_1(bench: Workbench, golden: Golden) -> dict[str, float]:  # noqa: ARG001 - all exercises take both
    """Windows of 600 characters, of the code: the share that the model does not read to the end, and how many more there are.

    What you pay is twofold: more vectors to make, keep and search, and answers that are cut through more often.
    """
    embedder = bench.embedder()
    code = [file for file in bench.corpus.files if file.category == "code"]
    found = {}
    for size, overlap in ((1000, 200), (600, 120)):
        texts = [w.text for file in code for w in windows(file.lines, size=size, overlap=overlap)]
        tokens = np.array(embedder.count_tokens(texts))
        found[f"windows of {size}"] = len(texts)
        found[f"cut short of {size}"] = float((tokens > embedder.max_tokens).mean())
    return found


class RareWords(TermCountRetriever):
    """As the word counter, but a word counts as much as it is rare: the logarithm of one over its share of windows."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        scores: dict[int, float] = {}
        for word in dict.fromkeys(self.tokenize(query_bundle.query_str)):
            rows = self._postings.get(word, {})
            for row in rows:
                scores[row] = scores.get(row, 0.0) + math.log(len(self.nodes) / len(rows))
        best = sorted(scores, key=lambda row: (-scores[row], row))[: self.top_k]
        return [make_hit(self.nodes[row], "rare words", scores[row]) for row in best]


def exercise_2(bench: Workbench, golden: Golden) -> dict[str, tuple[int, int]]:
    """How many questions the weights bring into the top 8, and how many they push out of it, by kind."""
    nodes = bench.index(bench.settings.but(chunking="windows")).nodes
    weighted = evaluate(RareWords(nodes, top_k=40), golden, latency=False, progress=False)
    plain = climb(bench, golden, [row for row in ROWS if row.rung == "1"], progress=False).reports["grep"]
    moves: dict[str, list[float]] = {}
    for new, old in zip(weighted.cases, plain.cases, strict=True):
        if new["expect"]:
            moves.setdefault(new["kind"], []).append(new["metrics"]["recall@8"] - old["metrics"]["recall@8"])
    return {kind: (sum(move > 0 for move in found), sum(move < 0 for move in found)) for kind, found in moves.items()}


def best_share(label: Label, places: dict[str, list[tuple[int, int]]]) -> float:
    """The largest share of a label's lines that one window holds; a bare path is held by any window of it."""
    if not label.spans:
        return 1.0
    return max(
        max(0, min(last, end) - max(first, start) + 1) / (last - first + 1)
        for first, last in label.spans
        for start, end in places[label.path]
    )


def exercise_3(bench: Workbench, golden: Golden) -> list[str]:
    """The questions of which no single window holds half of any answer."""
    places: dict[str, list[tuple[int, int]]] = {}
    for node in bench.index(bench.settings.but(chunking="windows")).nodes:
        place = (node.metadata["start_line"], node.metadata["end_line"])
        places.setdefault(node.metadata["path"], []).append(place)
    positives = [question for question in golden.questions if question.expect]
    return [q.id for q in positives if max(best_share(label, places) for label in q.expect) < 0.5]


if __name__ == "__main__":
    from rungs import Settings

    bench = Workbench(Settings())
    golden = load_golden(Path(__file__).parents[2] / "golden" / "celery.jsonl", bench.corpus)
    for solve in (exercise_1, exercise_2, exercise_3):
        print(f"{solve.__name__}: {solve(bench, golden)}")
