"""Speed as ratios, each side by side in one run. Nothing here is a test: run it on a quiet machine.

make bench            every benchmark
python benchmarks/run.py shared|index|dense|lexical|hybrid
"""

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rungs.corpus import chunk_files
from rungs.index import CHUNK_TOKENS
from rungs.lexical import K1, B, MilvusBM25Retriever
from rungs.lexical_bm25s import BM25sRetriever
from rungs.measure import evaluate_all, load_golden
from rungs.tokenizer import tokenize
from rungs.workbench import Workbench

REPOSITORY = Path(__file__).parents[1]
ROUNDS = 3
TOP_K = 40


def shared(bench: Workbench) -> dict:
    """Eight configurations measured together, against the dearest of them measured alone. Aim: well under 2.

    Once over one index, where they share what they find first; once with a second index among them, which shares no
    more than the query's embedding.
    """
    one = {f"dense, top {k}": bench.funnel(search_mode="dense", top_k=k) for k in (3, 5, 8, 20)}
    one |= {f"bm25, top {k}": bench.funnel(search_mode="bm25", top_k=k) for k in (3, 5, 8, 20)}
    two = dict(list(one.items())[1:]) | {"windows": bench.funnel(chunking="windows", search_mode="dense")}
    return {"one_index": _shared(bench, one), "two_indexes": _shared(bench, two)}


def _shared(bench: Workbench, eight: dict) -> dict:
    golden = load_golden(REPOSITORY / "golden" / "celery.jsonl", bench.corpus)

    def measure(names: list[str]) -> float:
        start = time.perf_counter()
        evaluate_all({name: eight[name] for name in names}, golden, latency=False, progress=False)
        return time.perf_counter() - start

    measure(list(eight))  # warm-up: opens files, loads the model
    alone = {name: min(measure([name]) for _ in range(ROUNDS)) for name in eight}
    together = min(measure(list(eight)) for _ in range(ROUNDS))
    dearest = max(alone, key=alone.get)
    return {
        "questions": len(golden.questions),
        "dearest": dearest,
        "dearest_alone_s": round(alone[dearest], 2),
        "eight_one_by_one_s": round(sum(alone.values()), 2),
        "eight_together_s": round(together, 2),
        "ratio_to_dearest": round(together / alone[dearest], 2),
    }


def index(bench: Workbench) -> dict:
    """Chunks embedded a second as the index does it, against the bare model on the same token ids. Aim: 0.9 or more."""
    embedder = bench.embedder()
    chunks = chunk_files(bench.corpus.files, max_tokens=CHUNK_TOKENS, count_tokens=embedder.count_tokens)
    texts = [chunk.embed_text for chunk in chunks[:: len(chunks) // 400]][:400]

    def ours() -> float:
        start = time.perf_counter()
        embedder.encode_passages(texts)
        return len(texts) / (time.perf_counter() - start)

    from sentence_transformers import SentenceTransformer

    raw_model = SentenceTransformer(str(embedder._folder), device="cpu", local_files_only=True)
    if embedder.precision == "bfloat16":
        raw_model = raw_model.bfloat16()

    def raw() -> float:
        start = time.perf_counter()
        raw_model.encode(texts, batch_size=16, normalize_embeddings=True, show_progress_bar=False)
        return len(texts) / (time.perf_counter() - start)

    ours(), raw()
    pairs = [(ours(), raw()) for _ in range(ROUNDS)]  # alternating, so that both meet the same machine
    return {
        "chunks": len(texts),
        "precision": embedder.precision,
        "ours_chunks_per_s": round(statistics.median(o for o, _ in pairs), 1),
        "sentence_transformers_chunks_per_s": round(statistics.median(r for _, r in pairs), 1),
        "ratio": round(statistics.median(o / r for o, r in pairs), 2),
    }


def dense(bench: Workbench) -> dict:
    """p50 of a dense search, against embedding the query plus Milvus' own search for ids. Aim: 1.3 or less."""
    golden = load_golden(REPOSITORY / "golden" / "celery.jsonl", bench.corpus)
    queries = [question.q for question in golden.questions]
    funnel, store, embedder = bench.funnel(search_mode="dense"), bench.index().store, bench.embedder()

    def raw(query: str) -> None:
        _raw_vectors(store, embedder.get_query_embedding(query))

    _times(funnel.search, queries), _times(raw, queries)
    ours = np.median([_times(funnel.search, queries) for _ in range(ROUNDS)])
    bare = np.median([_times(raw, queries) for _ in range(ROUNDS)])
    stages = [funnel.search(query).timings_ms for query in queries]
    return {
        "queries": len(queries),
        "rows": bench.index().manifest["rows"],
        "ours_p50_ms": round(float(ours), 1),
        "embed_and_raw_milvus_p50_ms": round(float(bare), 1),
        "ratio": round(float(ours / bare), 2),
        "embed_p50_ms": round(statistics.median(s["embed"] for s in stages), 1),
    }


def lexical(bench: Workbench) -> dict:
    """p50 of BM25 by either engine, hits and all, against the bare engine giving the numbers of its best 40 rows.

    The bare engines are handed terms; ours split the question themselves. All over the same terms, in turn.
    """
    import bm25s

    opened = bench.index()
    nodes, tokens, store = opened.nodes, opened.tokens, opened.store
    queries = [question.q for question in load_golden(REPOSITORY / "golden" / "celery.jsonl", bench.corpus).questions]
    terms = {query: list(dict.fromkeys(tokenize(query))) for query in queries}
    engine = bm25s.BM25(method="lucene", k1=K1, b=B)
    engine.index(tokens, show_progress=False)

    def raw_bm25s(query: str) -> np.ndarray:
        scores = engine.get_scores(terms[query])
        best = np.argpartition(scores, -TOP_K)[-TOP_K:]
        return best[np.argsort(-scores[best])]

    def raw_milvus(query: str) -> object:
        return _raw_terms(store, " ".join(terms[query]))

    runs: dict[str, Callable[[str], object]] = {
        "BM25sRetriever": BM25sRetriever(nodes, tokens, top_k=TOP_K).retrieve,
        "bm25s": raw_bm25s,
        "MilvusBM25Retriever": MilvusBM25Retriever(store, top_k=TOP_K).retrieve,
        "milvus": raw_milvus,
    }
    p50 = _p50(runs, queries)
    return {
        "queries": len(queries),
        "rows": len(nodes),
        "top_k": TOP_K,
        "p50_ms": {name: round(ms, 2) for name, ms in p50.items()},
        "ratio_to_bm25s": round(p50["BM25sRetriever"] / p50["bm25s"], 2),
        "ratio_to_milvus": round(p50["MilvusBM25Retriever"] / p50["milvus"], 2),
    }


def hybrid(bench: Workbench) -> dict:
    """p50 of the hybrid and the auto funnel, against the query's embedding and Milvus' own two searches for ids.

    Beside them LlamaIndex's QueryFusionRetriever over the same channels, so that only the fusing differs.
    """
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    golden = load_golden(REPOSITORY / "golden" / "celery.jsonl", bench.corpus)
    queries = [question.q for question in golden.questions]
    store, embedder = bench.index().store, bench.embedder()
    terms = {query: " ".join(dict.fromkeys(tokenize(query))) for query in queries}
    ours, auto = bench.funnel(search_mode="hybrid"), bench.funnel(search_mode="auto")
    peer = QueryFusionRetriever(
        [ours.channels["dense"], ours.channels["bm25"]],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=TOP_K,
        num_queries=1,
        use_async=False,
    )

    def raw(query: str) -> None:
        _raw_vectors(store, embedder.get_query_embedding(query))
        _raw_terms(store, terms[query])

    runs = {"hybrid": ours.search, "auto": auto.search, "QueryFusionRetriever": peer.retrieve, "raw": raw}
    p50 = _p50(runs, queries)
    return {
        "queries": len(queries),
        "top_k": TOP_K,
        "p50_ms": {name: round(ms, 1) for name, ms in p50.items()},
        "ratio_to_raw": {name: round(ms / p50["raw"], 2) for name, ms in p50.items() if name != "raw"},
    }


def _raw_vectors(store: Any, vector: list[float]) -> object:
    return store.client.search(
        store.collection_name, [vector], limit=TOP_K, anns_field=store.embedding_field, output_fields=[]
    )


def _raw_terms(store: Any, terms: str) -> object:
    return store.client.search(
        store.collection_name,
        [terms],
        limit=TOP_K,
        anns_field=store.sparse_embedding_field,
        output_fields=[],
        search_params={"params": {"drop_ratio_search": 0.0}},
    )


def _p50(runs: dict[str, Callable[[str], object]], queries: list[str]) -> dict[str, float]:
    """Median milliseconds of each, in turn over the same queries, after a round that warms up."""
    for run in runs.values():
        _times(run, queries)
    times = [{name: _times(run, queries) for name, run in runs.items()} for _ in range(ROUNDS)]
    # the best of a query's rounds: what else the machine did meanwhile is not the engine's
    return {name: float(np.median(np.min([one[name] for one in times], axis=0))) for name in runs}


def _times(run: Callable[[str], object], queries: list[str]) -> list[float]:
    """Milliseconds of each query, one at a time."""
    times = []
    for query in queries:
        start = time.perf_counter()
        run(query)
        times.append((time.perf_counter() - start) * 1000)
    return times


def main() -> None:
    """Run the benchmarks named on the command line, or all, and print JSON."""
    known = {"index": index, "dense": dense, "lexical": lexical, "hybrid": hybrid, "shared": shared}
    names = sys.argv[1:] or list(known)
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no benchmark {unknown[0]!r}; choose from {', '.join(known)}")
    bench = Workbench()
    results: dict = {
        "machine": {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    }
    for name in names:
        results[name] = known[name](bench)
        print(json.dumps({name: results[name]}), file=sys.stderr)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
