"""Speed as ratios, each side by side in one run. Nothing here is a test: run it on a quiet machine.

make bench            every benchmark
python benchmarks/run.py shared|index|dense
"""

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rungs.corpus import chunk_files
from rungs.index import CHUNK_TOKENS
from rungs.measure import evaluate_all, load_golden
from rungs.workbench import Workbench

REPOSITORY = Path(__file__).parents[1]
ROUNDS = 3


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
        vector = embedder.get_query_embedding(query)
        store.client.search(
            store.collection_name, [vector], limit=40, anns_field=store.embedding_field, output_fields=[]
        )

    def p50(run: Callable[[str], object]) -> list[float]:
        times = []
        for query in queries:
            start = time.perf_counter()
            run(query)
            times.append((time.perf_counter() - start) * 1000)
        return times

    p50(funnel.search), p50(raw)
    ours = np.median([p50(funnel.search) for _ in range(ROUNDS)])
    bare = np.median([p50(raw) for _ in range(ROUNDS)])
    stages = [funnel.search(query).timings_ms for query in queries]
    return {
        "queries": len(queries),
        "rows": bench.index().manifest["rows"],
        "ours_p50_ms": round(float(ours), 1),
        "embed_and_raw_milvus_p50_ms": round(float(bare), 1),
        "ratio": round(float(ours / bare), 2),
        "embed_p50_ms": round(statistics.median(s["embed"] for s in stages), 1),
    }


def main() -> None:
    """Run the benchmarks named on the command line, or all, and print JSON."""
    known = {"index": index, "dense": dense, "shared": shared}
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
