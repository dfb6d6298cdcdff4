"""Commands that bring a corpus, index it and search it."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from rungs.cli.flags import bench_of, settings_of
from rungs.cli.output import make_console, print_json, progress_bar
from rungs.errors import RunError, SettingsError
from rungs.terminal import printable

__all__ = ["do_fetch", "do_index", "do_run", "do_search"]


def do_fetch(args: argparse.Namespace) -> int:
    from rungs.corpus import fetch, find_home

    corpus = fetch(args.name, find_home(), progress=not args.quiet)
    _print_corpus(corpus, args.json)
    return 0


def _print_corpus(corpus: Any, as_json: bool, extra: dict[str, Any] | None = None) -> None:
    if as_json:
        print_json(
            {
                "corpus": corpus.name,
                "sha256": corpus.sha256,
                "files": len(corpus.files),
                "by_category": corpus.counts(),
                "skipped": dict(corpus.skipped),
                **(extra or {}),
            }
        )
        return
    counts = ", ".join(f"{n} {category}" for category, n in corpus.counts().items())
    print(f"{corpus.name}: {len(corpus.files)} files ({counts}) in {printable(str(corpus.root))}")
    if corpus.skipped:
        print("skipped: " + ", ".join(f"{n} {printable(reason)}" for reason, n in corpus.skipped.items()))


def do_index(args: argparse.Namespace) -> int:
    from rungs.corpus import pins, register
    from rungs.index import Index
    from rungs.workbench import Workbench

    settings = settings_of(args)
    target = args.target or settings.corpus
    bench = Workbench(settings.but(corpus=target))
    if args.name is not None or (target not in pins() and _is_folder_path(target)):
        corpus = register(Path(target), args.name, bench.home)
        bench = Workbench(settings.but(corpus=corpus.name), bench.home)
    start = time.perf_counter()
    version = bench.build(progress=not args.quiet)
    seconds = time.perf_counter() - start
    s = bench.settings
    index = Index.open(bench.home, bench.corpus, chunking=s.chunking, model=s.embed_model)
    manifest = index.manifest
    if args.json:
        _print_corpus(bench.corpus, True, {"index": str(version), "seconds": round(seconds, 2), "manifest": manifest})
        return 0
    _print_corpus(bench.corpus, False)
    timings = manifest["timings"]
    rows = ", ".join(f"{n} {category}" for category, n in manifest["rows_by_category"].items())
    print(f"index: {manifest['rows']} chunks ({rows}), {index.size_bytes() / 1e6:.0f} MB in {version}")
    print(f"{timings['embedded']} texts embedded when it was built; this run took {seconds:.1f} s")
    print(f'search it with: rungs search --corpus {bench.corpus.name} "your question"')
    return 0


def _is_folder_path(target: str) -> bool:
    return "/" in target or target.startswith(".") or (os.sep in target) or Path(target).is_dir()


def do_search(args: argparse.Namespace) -> int:
    if not args.query.strip():
        raise SettingsError("the query is empty; give a question or a name")
    bench = bench_of(args)
    result = bench.funnel().search(args.query)
    if args.json:
        print_json(result.to_dict())
    else:
        _print_hits(result)
    return 0


def _print_hits(result: Any) -> None:
    from rich.text import Text

    console = make_console()
    total = sum(result.timings_ms.values())
    weak = ", a weak match: there may be no answer" if result.weak_match else ""
    head = f"{len(result.hits)} hits by {result.route} ({result.reason}){weak}, {total:.0f} ms"
    console.print(Text(printable(head), style="dim"))
    for rank, hit in enumerate(result.hits, 1):
        data = hit.node.metadata
        scores = "  ".join(f"{name} {score:.3f}" for name, score in data["scores"].items())
        line = Text(f"{rank:>2}. ")
        line.append(printable(f"{data['path']}:{data['start_line']}-{data['end_line']}"), style="bold")
        line.append(printable(f"  {data['symbol']}"), style="cyan")
        line.append(f"  {data['category']}  {scores}", style="dim")
        console.print(line)
        shown = [text for text in hit.node.get_content().splitlines() if text.strip()][:3]
        for text in shown:
            console.print(Text("    " + printable(text), no_wrap=True, overflow="ellipsis"))
    if not result.hits:
        console.print("nothing found; try other words, or another --mode")


def do_run(args: argparse.Namespace) -> int:
    from rungs.measure.textfiles import write_lines

    queries = _read_queries(args.queries)
    funnel = bench_of(args).funnel()
    lines = (_answer(funnel, query) for query in progress_bar(queries, args.quiet))
    if args.out is None:
        for line in lines:
            print(line, flush=True)
        return 0
    write_lines(args.out, lines, RunError, keep=True)
    return 0


def _answer(funnel: Any, query: dict[str, str]) -> str:
    start = time.perf_counter()
    result = funnel.search(query["q"])
    ms = (time.perf_counter() - start) * 1000
    row = {
        "id": query["id"],
        "hits": result.to_dict()["hits"],
        "ms": round(ms, 3),
        "weak_match": result.weak_match,
        "dropped": result.dropped,
    }
    return json.dumps(row, ensure_ascii=False)


def _read_queries(path: Path) -> list[dict[str, str]]:
    from rungs.measure.textfiles import json_lines

    queries, seen = [], set()
    for number, row in json_lines(path, RunError):
        if not isinstance(row, dict) or not isinstance(row.get("q"), str) or not row["q"].strip():
            raise RunError(f'{path}:{number}: has no text under "q"; write {{"id": "1", "q": "your question"}}')
        id_ = row.get("id", str(number))
        if not isinstance(id_, str):
            raise RunError(f'{path}:{number}: "id" is no text; write {{"id": "1", "q": "your question"}}')
        if id_ in seen:
            raise RunError(f"{path}:{number}: id {id_!r} stands twice; give each query its own")
        seen.add(id_)
        queries.append({"id": id_, "q": row["q"]})
    if not queries:
        raise RunError(f"{path}: holds no queries; write one JSON object a line")
    return queries
