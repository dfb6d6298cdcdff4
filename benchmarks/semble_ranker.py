"""A peer on its own ground: semble's ranking rules over our two channels, on the golden questions.

python benchmarks/semble_ranker.py [golden/celery.jsonl]

Needs the package ``semble`` (only its ranking is used, not its model), which this project does
not install: `pip install semble`. Its channels are ours, the same candidates for both, so what is compared is the
ranking: definition boosts, damped tests and examples, at most so many chunks of one file.
"""

import sys
from pathlib import Path

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs.hits import make_hit
from rungs.ladder import ROWS, figure
from rungs.measure import compare, compare_kinds, evaluate_all, load_golden
from rungs.workbench import Workbench

TOP_K = 40
POOL = 5  # candidates a hit, as semble fetches them
RRF_K = 60


class SembleRanker(BaseRetriever):
    """semble's search, from the fused list on."""

    def __init__(self, channels: dict[str, BaseRetriever], nodes: list, top_k: int = TOP_K) -> None:
        from semble.types import Chunk

        super().__init__()
        self.channels, self.top_k = channels, top_k
        self.chunks, self.nodes = {}, {}
        for node in nodes:
            data = node.metadata
            chunk = Chunk(
                content=node.text,
                file_path=data["path"],
                start_line=data["start_line"],
                end_line=data["end_line"],
                language=data.get("language") or None,
            )
            self.chunks[node.node_id], self.nodes[chunk] = chunk, node
        self.everything = list(self.chunks.values())

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        from semble.ranking import apply_query_boost, boost_multi_chunk_files, rerank_topk, resolve_alpha

        query = query_bundle.query_str
        alpha = resolve_alpha(query, None)
        fused: dict = {}
        for name, weight in (("dense", alpha), ("bm25", 1 - alpha)):
            for rank, hit in enumerate(self.channels[name].retrieve(query_bundle), start=1):
                chunk = self.chunks[hit.node.node_id]
                fused[chunk] = fused.get(chunk, 0.0) + weight / (RRF_K + rank)
        boost_multi_chunk_files(fused)
        fused = apply_query_boost(fused, query, self.everything)
        ranked = rerank_topk(fused, self.top_k, penalise_paths=alpha < 1.0)
        return [make_hit(self.nodes[chunk], "semble", score) for chunk, score in ranked]


def main() -> int:
    """Print recall@8 and MRR by kind, and what `auto` differs by."""
    try:
        import semble.ranking  # noqa: F401
    except ImportError:
        print("skipped: semble is not installed (pip install semble)", file=sys.stderr)
        return 2
    bench = Workbench()
    golden = load_golden(Path(sys.argv[1] if len(sys.argv) > 1 else "golden/celery.jsonl"), bench.corpus)
    rows = {row.name: row.make(bench) for row in ROWS if row.name in ("dense", "bm25", "hybrid k=10", "auto")}
    wide = {name: bench.funnel(search_mode=name, candidates=8 * POOL) for name in ("dense", "bm25")}
    rows["semble's ranker"] = SembleRanker({n: f.channels[n] for n, f in wide.items()}, bench.index().nodes)
    reports = evaluate_all(rows, golden, latency=False)
    for metric in ("recall@8", "mrr"):
        for name, report in reports.items():
            kinds = {kind: group[metric] for kind, group in report.by_kind.items() if group[metric]["n"]}
            shown = ", ".join(f"{kind} {figure(one)}" for kind, one in {"all": report.metrics[metric], **kinds}.items())
            print(f"{metric} {name}: {shown}")
        before, after = reports["semble's ranker"], reports["auto"]
        print(compare({"semble": before, "auto": after}, metrics=[metric]).summary().splitlines()[2])
        for kind, d in compare_kinds(before, after, metric).items():
            print(f"  {kind}: {d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}] {d.verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
