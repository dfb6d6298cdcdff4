"""The ``rungs`` command. Errors are one line and exit code 2; ``--debug`` shows where they come from."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rungs.errors import RunError, RungsError, SettingsError
from rungs.settings import Endpoint, Settings, env_name
from rungs.terminal import printable

__all__ = ["main"]

_SEARCH = (
    "search_mode",
    "prose_mode",
    "rrf_k",
    "bm25_weight",
    "name_weight",
    "router",
    "top_k",
    "candidates",
    "category",
    "path_prefix",
    "language",
)
_INDEX = ("corpus", "chunking", "embed_model", "query_instruction", "passage_instruction", "milvus_uri")
_ROUTES = (*_INDEX, "router")
_EPILOG = """Start with `rungs ladder`: it fetches a pinned corpus, indexes it, measures every rung and prints the table.
Every setting is a flag and a RAG_* variable; a flag beats a variable beats a default."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 a measurement FAILED, 2 an error the user can mend."""
    parser = _parser()
    args = parser.parse_args(argv)
    _quiet_libraries()
    try:
        _check_outputs(args)
        return args.run(args)
    except RungsError as error:
        if args.debug:
            raise
        print(f"rungs: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rungs: stopped; what was finished is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (
        Exception
    ) as error:  # a library's own, or a defect of ours: still one line, and never a measurement's exit code
        if args.debug:
            raise
        said = " ".join(str(error).split())[:300]
        print(f"rungs: {type(error).__name__}: {said}; run it again with --debug to see where", file=sys.stderr)
        return 2


def _quiet_libraries() -> None:
    """Before anything heavy is imported: no telemetry, no chatter on stdout."""
    for name, value in {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "RAGAS_DO_NOT_TRACK": "true",
        "ANONYMIZED_TELEMETRY": "false",
        "TOKENIZERS_PARALLELISM": "false",
        "GRPC_VERBOSITY": "ERROR",
    }.items():
        os.environ.setdefault(name, value)


# --- parser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rungs",
        description="A measured ladder of retrieval techniques over a codebase and its documents.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str, settings: Sequence[str] = ()) -> Any:
        sub = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        sub.set_defaults(run=run)
        sub.add_argument("--debug", action="store_true", help="show a traceback on errors")
        sub.add_argument("--quiet", action="store_true", help="no progress bars")
        _add_settings(sub, settings)
        return sub

    sub = command("ladder", _ladder, "fetch, index, measure every rung, print the table", ("corpus", "embed_model"))
    sub.add_argument("--golden", type=Path, help="questions (default: golden/CORPUS.jsonl)")
    sub.add_argument("--peers", action="store_true", help="add LlamaIndex's own defaults; embeds the corpus again")
    sub.add_argument("--again", action="store_true", help="measure also what has not changed since it was measured")
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between the ladder markers of FILE")
    sub.add_argument(
        "--picture", type=Path, metavar="FILE", help="save the plot of recall by row and kind (.png, .svg)"
    )
    _add_json(sub)

    sub = command("fetch", _fetch, "bring a pinned corpus, check its hash, unpack it")
    sub.add_argument("name", help="a name in data/corpora.toml")
    _add_json(sub)

    sub = command("index", _index, "build the index of a corpus or of any folder", _INDEX[1:])
    sub.add_argument("target", nargs="?", help="a corpus by name, or a folder (default: RAG_CORPUS, or celery)")
    sub.add_argument("--name", help="what to call a folder's corpus (default: the folder's name)")
    _add_json(sub)

    sub = command("search", _search, "search, and show hits with path, lines and scores", (*_INDEX, *_SEARCH))
    sub.add_argument("query")
    _add_json(sub)

    sub = command("run", _run, "answer a file of queries, one JSON line each", (*_INDEX, *_SEARCH))
    sub.add_argument("queries", type=Path, help='lines {"id", "q"}')
    sub.add_argument("--out", type=Path, help="write here in place of standard output")

    sub = command("eval", _eval, "measure the settings in force on a golden file", (*_INDEX, *_SEARCH))
    sub.add_argument("golden", type=Path)
    sub.add_argument("--ledger", type=Path, nargs="?", const=Path(), help="append a row (default: .rungs/ledger.jsonl)")
    sub.add_argument("--label", help="what the row is called (default: the mode)")
    sub.add_argument("--save", type=Path, metavar="FILE", help="also write the report's JSON to FILE")
    sub.add_argument(
        "--run",
        dest="run_file",
        type=Path,
        metavar="RUN",
        help="score this file's results instead: lines of `rungs run`, or a TREC run",
    )
    sub.add_argument("--pooled", action="store_true", help="count labels under `also` as right")
    sub.add_argument("--no-latency", action="store_true", help="skip the timing pass")
    sub.add_argument("--ragas", action="store_true", help="also hold recall@8 and precision@8 against those of ragas")
    sub.add_argument(
        "--judge", action="store_true", help="also have answers written from the hits, and judged by a model"
    )
    sub.add_argument("--save-judged", type=Path, metavar="FILE", help="also write the judged run's JSON to FILE")
    _add_settings(sub, ("api_base", "model", "timeout", "retries"), Endpoint)
    _add_json(sub)

    sub = command(
        "gate", _gate, "measure the settings in force against a saved report; exit 1 when worse", (*_INDEX, *_SEARCH)
    )
    sub.add_argument("baseline", type=Path, help="a file from `rungs eval --save`")
    sub.add_argument("--golden", type=Path, help="the questions it was measured on (default: golden/CORPUS.jsonl)")
    sub.add_argument(
        "--margin", type=float, default=0.03, help="half-width of what counts as equivalent (default: 0.03)"
    )
    _add_json(sub)

    sub = command("smoke", _smoke, "ask a dozen canonical queries; exit 1 when one is lost", (*_INDEX, *_SEARCH))
    sub.add_argument("file", type=Path, nargs="?", help="a golden file (default: golden/CORPUS.smoke.jsonl)")
    _add_json(sub)

    sub = command("explain", _explain, "follow one golden question through every step", (*_INDEX, *_SEARCH))
    sub.add_argument("id", help="of the question")
    sub.add_argument("--golden", type=Path, help="its file (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command(
        "regressions", _regressions, "what got worse since a saved report, and at which step", (*_INDEX, *_SEARCH)
    )
    sub.add_argument("baseline", type=Path, help="a file from `rungs eval --save`")
    sub.add_argument("--golden", type=Path, help="the questions it was measured on (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command("sweep", _sweep, "measure one setting at several values, beside controls", (*_INDEX, *_SEARCH))
    sub.add_argument("setting", choices=[f.metadata["flag"] for f in fields(Settings) if f.name in _SEARCH])
    sub.add_argument("values", help="in order, between semicolons: '8;40;100'; the first is the baseline")
    sub.add_argument(
        "--controls",
        required=True,
        help="kinds of question that the setting could harm (doc,test), or a golden file of them",
    )
    sub.add_argument("--golden", type=Path, help="the tuning questions (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command("compare", _compare, "compare saved reports, question by question, with verdicts")
    sub.add_argument(
        "reports", type=Path, nargs="+", help="two or more files from `rungs eval --save`; the first is the baseline"
    )
    sub.add_argument(
        "--margin", type=float, default=0.03, help="half-width of what counts as equivalent (default: 0.03)"
    )
    _add_json(sub)

    sub = command("coverage", _coverage, "folders, kinds and categories that a golden file asks about", ("corpus",))
    sub.add_argument("golden", type=Path, nargs="?", help="the questions (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command("routes", _routes, "how often the router takes questions for names, and names for questions", _ROUTES)
    sub.add_argument("file", type=Path, nargs="?", help="labelled queries (default: golden/CORPUS.routing.jsonl)")
    sub.add_argument(
        "--split",
        choices=("tuning", "heldout", "both"),
        default="tuning",
        help="which lines (default: tuning; the others only report)",
    )
    _add_json(sub)

    sub = command("judge", _judge, "judge blind the places that saved runs found beyond the labels", ("corpus",))
    sub.add_argument("golden", type=Path, help="the questions; a held-out file too: judging chooses nothing")
    sub.add_argument("runs", type=Path, nargs="*", metavar="RUN.json", help="files from `rungs eval --save`")
    sub.add_argument("--kind", default="prose-en", help="kind of question (default: prose-en)")
    sub.add_argument("--sample", type=int, help="how many questions, drawn at random (default: 60, or all)")
    sub.add_argument("--seed", type=int, default=0, help="of every random draw (default: 0)")
    sub.add_argument("--depth", type=int, default=8, help="hits of each run that are pooled (default: 8)")
    sub.add_argument("--judgements", type=Path, metavar="FILE", help="(default: GOLDEN's name + .judgements.jsonl)")
    sub.add_argument("--as", dest="judge", metavar="NAME", help="who judges (default: the login name)")
    sub.add_argument("--again", type=int, metavar="N", help="judge N items that somebody else has judged")
    does = sub.add_mutually_exclusive_group()
    does.add_argument("--status", action="store_true", help="only say what is judged, and how far judges agree")
    does.add_argument("--apply", action="store_true", help="write what was judged right under `also` of GOLDEN")
    _add_json(sub)

    sub = command("split", _split, "draw the held-out half of a golden file, kind by kind", ("corpus",))
    sub.add_argument("golden", type=Path, help="every question there is")
    sub.add_argument("--out", type=Path, required=True, help="the tuning file; NAME.heldout.jsonl goes next to it")
    sub.add_argument("--held-out", default="0.5", metavar="SHARE", help="0.5, or by kind: prose-en=0.55,doc=0.5")
    sub.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    sub.add_argument("--tuning", default="", metavar="IDS", help="between commas: those that were looked at already")
    sub.add_argument("--overwrite", action="store_true", help="replace files that are in the way")
    _add_json(sub)

    sub = command("mine", _mine, "draft golden questions from a history or from issues, and confirm them", ("corpus",))
    sub.add_argument("what", choices=("history", "issues", "confirm"))
    sub.add_argument("source", type=Path, help="a git repository; issues or a changelog; or a file of drafts")
    sub.add_argument("--prefix", help="history: put before its paths to get those of the corpus")
    sub.add_argument("--limit", type=int, help="history: commits to look at (default: 200)")
    sub.add_argument("--out", type=Path, help="drafts (default: standard output); confirm: the golden file, required")

    sub = command(
        "reread", _reread, "draw a second reader's sheet, or compare the answers with the labels", ("corpus",)
    )
    sub.add_argument("golden", type=Path)
    sub.add_argument("--share", type=float, default=0.25, help="of each kind, to be read again (default: 0.25)")
    sub.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    sub.add_argument("--out", type=Path, help="write the sheet here in place of standard output")
    sub.add_argument("--answers", type=Path, metavar="FILE", help='lines {"id", "places"} to compare with the labels')
    _add_json(sub)

    sub = command("plan", _plan, "how many labels of each kind it takes to read a difference")
    sub.add_argument("before", type=Path, help="a file from `rungs eval --save`")
    sub.add_argument("after", type=Path, help="another, of a change such as those to come")
    sub.add_argument("--difference", type=float, default=0.05, help="what should be readable (default: 0.05)")
    sub.add_argument("--metric", default="recall@8", help="of which metric (default: recall@8)")
    _add_json(sub)

    sub = command("copy", _copy, "copy a rung, with what it imports, into another project")
    sub.add_argument("rung")
    sub.add_argument("dest", type=Path)
    sub.add_argument("--overwrite", action="store_true", help="replace files that are in the way")

    sub = command("lab", _lab, "open JupyterLab on the notebooks")
    sub.add_argument("rest", nargs="*", help="passed on to JupyterLab")
    return parser


def _add_json(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="machine-readable output, and nothing else, on stdout")


def _add_settings(sub: argparse.ArgumentParser, names: Sequence[str], of: type = Settings) -> None:
    by_name = {f.name: f for f in fields(of)}
    for name in names:
        f = by_name[name]
        default = f.default if f.default != "" else "none"
        sub.add_argument(
            f"--{f.metadata['flag']}",
            dest=name,
            type=type(f.default),
            choices=f.metadata["choices"] or None,
            metavar=None if f.metadata["choices"] else f.metadata["flag"].upper().replace("-", "_"),
            help=f"{f.metadata['help']} ({env_name(f)}; default: {default})",
        )


def _settings(args: argparse.Namespace) -> Settings:
    given = {f.name: getattr(args, f.name, None) for f in fields(Settings)}
    return Settings.from_environment(given)


_OUTPUTS = ("save", "save_judged", "ledger", "out", "picture", "write", "judgements")


def _check_outputs(args: argparse.Namespace) -> None:
    """Before minutes are spent: a file that was asked for can lie where it was asked for."""
    for name in _OUTPUTS:
        path, flag = getattr(args, name, None), f"--{name.replace('_', '-')}"
        if not isinstance(path, Path) or path == Path():
            continue
        if not path.parent.is_dir():
            raise SettingsError(f"{flag} {path}: there is no folder {path.parent}; make it, or check the path")
        if path.is_dir():
            raise SettingsError(f"{flag} {path} is a folder; name a file")


def _bench(args: argparse.Namespace) -> Any:
    from rungs.workbench import Workbench

    return Workbench(_settings(args))


# --- commands


def _ladder(args: argparse.Namespace) -> int:
    from rungs import ladder
    from rungs.corpus import fetch, pins
    from rungs.measure import find_golden, load_golden

    bench = _bench(args)
    name = bench.settings.corpus
    start = time.perf_counter()
    if name in pins():
        bench.corpus = fetch(name, bench.home, progress=not args.quiet)  # read and checked once
    fetched = time.perf_counter() - start
    golden = load_golden(args.golden or find_golden(name), bench.corpus)
    rows = list(ladder.ROWS)
    if args.peers:
        from rungs.peers import PEERS

        rows.extend(PEERS)
    ledger_path = bench.home / "ledger.jsonl"
    result = ladder.climb(bench, golden, rows, ledger=ledger_path, again=args.again, progress=not args.quiet)
    result.seconds = {"fetch": fetched, **result.seconds}
    if args.write:
        ladder.write_between(args.write, ladder.markdown(result), held_out=golden.held_out)
    if args.picture and not result.failed:
        from rungs.plots import recall_by_kind

        recall_by_kind(result.reports).savefig(args.picture)
    if args.json:
        _print_json(result.to_dict())
    else:
        _print_ladder(result)
    return 1 if result.failed else 0


def _print_ladder(result: Any) -> None:
    from rungs import ladder

    console = _console()
    console.print(ladder.caption(result), style="bold", markup=False)
    _print_table(console, *ladder.table(result))
    console.print("recall@8 by kind of question", style="bold")
    _print_table(console, *ladder.kind_table(result))
    console.print(ladder.PAIRED_SAYS, style="bold", markup=False, highlight=False)
    _print_table(console, *ladder.paired_table(result))
    for row in result.rows:
        console.print(f"{row.name}: {row.about}", markup=False, highlight=False)
    console.print(ladder.FOOTNOTE, markup=False, highlight=False, style="dim")
    seconds = ", ".join(f"{step} {s:.0f} s" for step, s in result.seconds.items())
    kept = len(result.rows) - len(result.fresh)
    note = f"; {kept} of {len(result.rows)} rows unchanged since they were measured" if kept else ""
    console.print(f"took: {seconds}{note}", markup=False, highlight=False, style="dim")
    for name in result.failed:
        for question, error in list(result.reports[name].failures.items())[:5]:
            print(f"FAILED {name} {question}: {printable(error)}", file=sys.stderr)


def _fetch(args: argparse.Namespace) -> int:
    from rungs.corpus import fetch, find_home

    corpus = fetch(args.name, find_home(), progress=not args.quiet)
    _print_corpus(corpus, args.json)
    return 0


def _print_corpus(corpus: Any, as_json: bool, extra: dict[str, Any] | None = None) -> None:
    if as_json:
        _print_json(
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


def _index(args: argparse.Namespace) -> int:
    from rungs.corpus import pins, register
    from rungs.index import Index
    from rungs.workbench import Workbench

    settings = _settings(args)
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


def _search(args: argparse.Namespace) -> int:
    if not args.query.strip():
        raise SettingsError("the query is empty; give a question or a name")
    bench = _bench(args)
    result = bench.funnel().search(args.query)
    if args.json:
        _print_json(result.to_dict())
    else:
        _print_hits(result)
    return 0


def _print_hits(result: Any) -> None:
    from rich.text import Text

    console = _console()
    total = sum(result.timings_ms.values())
    console.print(Text(f"{len(result.hits)} hits by {result.route} ({result.reason}), {total:.0f} ms", style="dim"))
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


def _run(args: argparse.Namespace) -> int:
    queries = _read_queries(args.queries)
    funnel = _bench(args).funnel()
    lines = (_answer(funnel, query) for query in _progress(queries, args.quiet))
    if args.out is None:
        for line in lines:
            print(line, flush=True)
        return 0
    partial = args.out.with_name(args.out.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        partial.replace(args.out)
    except OSError as error:
        raise RunError(f"{args.out}: cannot be written ({error.strerror}); check the path") from None
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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: cannot be read ({error}); give a UTF-8 file of JSON lines") from None
    queries, seen = [], set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RunError(f"{path}:{number}: not JSON ({error}); write one object a line") from None
        if not isinstance(row, dict) or not isinstance(row.get("q"), str) or not row["q"].strip():
            raise RunError(f'{path}:{number}: has no text under "q"; write {{"id": "1", "q": "your question"}}')
        id_ = str(row.get("id", number))
        if id_ in seen:
            raise RunError(f"{path}:{number}: id {id_!r} stands twice; give each query its own")
        seen.add(id_)
        queries.append({"id": id_, "q": row["q"]})
    if not queries:
        raise RunError(f"{path}: holds no queries; write one JSON object a line")
    return queries


def _eval(args: argparse.Namespace) -> int:
    from rungs.measure import append, evaluate, load_golden, load_run

    endpoint = _endpoint(args) if args.judge else None  # before minutes are spent
    bench = _bench(args)
    golden = load_golden(args.golden, bench.corpus)
    retriever = load_run(args.run_file, golden) if args.run_file else bench.funnel()
    timed = not (args.no_latency or args.run_file)  # reading a file back says nothing about how long it took to make
    report = evaluate(retriever, golden, pooled=args.pooled, latency=timed, progress=not args.quiet)
    look = None
    if args.ledger is not None or report.held_out:  # every look at a held-out file is counted, asked for or not
        path = bench.home / "ledger.jsonl" if args.ledger in (None, Path()) else args.ledger
        label = args.label or (args.run_file or Path(bench.settings.search_mode)).name
        look = append(report, path, label=label).get("look")
    further = _further(args, report, golden, retriever, bench, endpoint) if report.status == "ok" else {}
    if args.json:
        _print_json(report.to_dict() | {name: result.to_dict() for name, (result, _) in further.items()})
    else:
        said = [
            report.summary(look=look),
            *_pooled(report, golden),
            *(result.summary() for result, _ in further.values()),
        ]
        print(printable("\n".join(said), keep="\n"))
    if args.save is not None:  # last: where it cannot be written, the figures have been shown
        report.save(args.save)
    return 0 if report.status == "ok" and all(held for _, held in further.values()) else 1


def _pooled(report: Any, golden: Any) -> list[str]:
    """Strict beside pooled, where a pool was judged."""
    from rungs.measure.pooled import judgements_of, strict_and_pooled

    judgements = judgements_of(golden) if report.status == "ok" else None
    if judgements is None or not judgements.questions(golden):
        return []
    figures = strict_and_pooled(report, golden, judgements)
    shown = (f"  {name:<17}{one['value']:.3f}  [{one['low']:.3f}, {one['high']:.3f}]" for name, one in figures.items())
    return [f"the {figures['judged']['n']} questions whose pool was judged:", *shown]


def _endpoint(args: argparse.Namespace) -> Endpoint:
    return Endpoint.from_environment({f.name: getattr(args, f.name, None) for f in fields(Endpoint)})


def _further(
    args: argparse.Namespace, report: Any, golden: Any, retriever: Any, bench: Any, endpoint: Endpoint | None
) -> dict[str, tuple[Any, bool]]:
    """What else was asked for, by name, and whether it held."""
    from rungs.measure import cross_check, judge_run

    results: dict[str, tuple[Any, bool]] = {}
    if args.ragas:
        checked = cross_check(report, golden)
        results["ragas"] = checked, checked.agrees
    if endpoint is not None:
        embedder, shown = bench.embedder(), not args.quiet
        judged = judge_run(retriever, golden, endpoint, embed_model=embedder, progress=shown)
        results["judged"] = judged, judged.status == "ok"
        if args.save_judged is not None:
            judged.save(args.save_judged)
    return results


def _gate(args: argparse.Namespace) -> int:
    from rungs.measure import Report, evaluate, find_golden, gate, load_golden

    bench = _bench(args)
    baseline = Report.load(args.baseline)
    golden = load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)
    now = evaluate(bench.funnel(), golden, pooled=baseline.pooled, latency=False, progress=not args.quiet)
    result = gate(baseline, now, margin=args.margin)
    _show(result, args)
    return 0 if result.passed else 1


def _smoke(args: argparse.Namespace) -> int:
    from rungs.measure import Locator, find_golden, load_golden

    bench = _bench(args)
    golden = load_golden(args.file or find_golden(f"{bench.settings.corpus}.smoke"), bench.corpus)
    funnel, locator = bench.funnel(), Locator(golden.corpus)
    found = {q.id: _smoked(funnel, q, locator) for q in golden.questions if not q.negative}
    lost = {id: why for id, (rank, why) in found.items() if rank is None}
    if args.json:
        _print_json({"lost": lost, "ranks": {id: rank for id, (rank, _) in found.items()}})
        return 1 if lost else 0
    texts = {q.id: q.q for q in golden.questions}
    for id, (rank, why) in found.items():
        said = f"rank {rank}" if rank else f"LOST ({why})"
        print(printable(f"{id}  {said:<8}  {texts[id]}"))
    n, top_k = len(found), bench.settings.top_k
    print(f"smoke: {len(lost)} of {n} lost" if lost else f"smoke: all {n} found in the top {top_k}")
    return 1 if lost else 0


def _smoked(funnel: Any, question: Any, locator: Any) -> tuple[int | None, str]:
    """Rank of the first right place, and where there is none, why: asked without the rest of a measurement."""
    from rungs.measure import judge

    try:
        result = funnel.search(question.q)
        rank = judge(question, [locator.locate(hit.node) for hit in result.hits]).first
    except Exception as error:  # one query that raises must not hide what became of the others
        return None, " ".join(f"{type(error).__name__}: {error}".split())
    if result.degraded:
        return None, f"stage {result.degraded[0]['stage']} failed: {result.degraded[0]['reason']}"
    data = result.hits[0].node.metadata if result.hits else {}
    return rank, f"first is {data['path']} {data['symbol']}".strip() if data else "nothing came back"


def _explain(args: argparse.Namespace) -> int:
    from rungs.measure import explain, find_golden, load_golden

    bench = _bench(args)
    golden = load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)
    return _show(explain(bench.funnel(), args.id, golden, k=bench.settings.top_k), args)


def _regressions(args: argparse.Namespace) -> int:
    from rungs.measure import Report, find_golden, find_regressions, load_golden

    bench = _bench(args)
    baseline = Report.load(args.baseline)
    golden = load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)
    found = find_regressions(baseline, bench.funnel(), golden, k=bench.settings.top_k, progress=not args.quiet)
    return _show(found, args)


def _sweep(args: argparse.Namespace) -> int:
    from rungs.measure import find_golden, load_golden, sweep

    bench = _bench(args)
    field = next(f for f in fields(Settings) if f.metadata["flag"] == args.setting)
    values = [_as_setting(field, text.strip()) for text in args.values.split(";")]
    golden = load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)
    file = Path(args.controls)
    controls = load_golden(file, bench.corpus) if file.suffix == ".jsonl" else args.controls.split(",")
    found = sweep(field.name, values, golden, controls, make=bench.funnel, progress=not args.quiet)
    return _show(found, args)


def _as_setting(field: Any, text: str) -> Any:
    try:
        return type(field.default)(text)
    except ValueError:
        wanted = type(field.default).__name__
        raise SettingsError(f"--{field.metadata['flag']} cannot be {text!r}; give values of type {wanted}") from None


def _show(result: Any, args: argparse.Namespace) -> int:
    if args.json:
        _print_json(result.to_dict())
    else:
        print(printable(result.summary(), keep="\n"))
    return 0


def _compare(args: argparse.Namespace) -> int:
    from rungs.measure import Report, compare

    stems = [path.stem for path in args.reports]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in args.reports]
    if len(set(names)) < len(names):
        raise RunError("the same report is named twice; give two different ones")
    reports = {name: Report.load(path) for name, path in zip(names, args.reports, strict=True)}
    comparison = compare(reports, margin=args.margin)
    if args.json:
        _print_json(comparison.to_dict())
    else:
        print(printable(comparison.summary(), keep="\n"))
    return 0


def _reread(args: argparse.Namespace) -> int:
    from rungs.measure import load_golden
    from rungs.measure.second_reader import draw_sheet, read_answers
    from rungs.measure.textfiles import write_lines

    if args.out is not None and args.out.exists():
        raise SettingsError(f"--out {args.out} exists already; choose another name")
    golden = load_golden(args.golden, _bench(args).corpus)
    if args.answers is not None:
        return _show(read_answers(args.answers, golden), args)
    lines = [json.dumps(row, ensure_ascii=False) for row in draw_sheet(golden, args.share, seed=args.seed)]
    if args.out is None:
        print("\n".join(lines))
    else:
        write_lines(args.out, lines)
    return 0


def _coverage(args: argparse.Namespace) -> int:
    from rungs.measure import coverage, find_golden, load_golden

    bench = _bench(args)
    return _show(coverage(load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)), args)


def _routes(args: argparse.Namespace) -> int:
    from rungs.measure import find_golden, load_routing, routing_errors

    bench = _bench(args)
    queries = load_routing(
        args.file or find_golden(f"{bench.settings.corpus}.routing"), None if args.split == "both" else args.split
    )
    return _show(routing_errors(bench.router(), queries), args)


def _judge(args: argparse.Namespace) -> int:
    from rungs.measure import (
        Judgements,
        JudgingSession,
        Report,
        draw_questions,
        judge_in_terminal,
        judging_status,
        load_golden,
        pool,
        second_sample,
    )

    _check_judging(args)
    golden = load_golden(args.golden, _bench(args).corpus)
    judgements = Judgements(args.judgements or args.golden.with_name(f"{args.golden.stem}.judgements.jsonl"))
    if args.apply:
        return _apply(golden, judgements, args)
    reports = {str(path): Report.load(path) for path in args.runs}
    of_kind = sum(question.kind == args.kind and not question.negative for question in golden.questions)
    ids = draw_questions(golden, args.kind, args.sample or min(60, max(of_kind, 1)), seed=args.seed)
    items = pool(list(reports.values()), golden, ids, depth=args.depth)
    if args.status:
        return _show(judging_status(golden, judgements, items, reports, depth=args.depth), args)
    judge = _login() if args.judge is None else args.judge
    if args.again is not None:
        items = second_sample(items, judgements, judge, args.again, seed=args.seed)
    judge_in_terminal(JudgingSession(items, judgements, judge))
    return 0


def _check_judging(args: argparse.Namespace) -> None:
    for name in ("sample", "depth", "again"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise SettingsError(f"--{name} is {value}; use at least 1")
    if args.judge is not None and not args.judge.strip():
        raise SettingsError("--as is empty; give the name of who judges")
    if not args.runs and not args.apply:
        raise SettingsError("nothing to pool; name one or more files from `rungs eval --save`")
    if args.json and not (args.status or args.apply):
        raise SettingsError("--json has nothing to say while judging; give it with --status or --apply")


def _login() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "me"


def _apply(golden: Any, judgements: Any, args: argparse.Namespace) -> int:
    from rungs.measure.pooling import with_judgements
    from rungs.measure.textfiles import write_lines

    lines = with_judgements(golden, judgements)
    write_lines(golden.path, lines)
    also = [row["also"] for row in map(json.loads, lines) if row.get("also")]
    places, questions, judged = sum(map(len, also)), len(also), len(judgements.questions(golden))
    if args.json:
        _print_json({"places": places, "questions": questions, "judged_questions": judged})
    else:
        said = f"{places} places on {questions} questions are right as well, of {judged} questions judged"
        print(printable(f"{golden.path}: {said}; measure with --pooled to count them"))
    return 0


def _split(args: argparse.Namespace) -> int:
    from collections import Counter

    from rungs.measure import draw_held_out, load_golden, write_split

    golden = load_golden(args.golden, _bench(args).corpus)
    tuning = [name.strip() for name in args.tuning.split(",") if name.strip()]
    held_out = draw_held_out(golden, _shares(args.held_out), seed=args.seed, tuning=tuning)
    paths = write_split(golden, held_out, args.out, overwrite=args.overwrite)
    drawn = Counter((question.kind, question.id in held_out) for question in golden.questions)
    counts = {kind: {"tuning": drawn[kind, False], "held_out": drawn[kind, True]} for kind in golden.kinds}
    if args.json:
        _print_json({"tuning": str(paths[0]), "held_out": str(paths[1]), "questions": counts})
        return 0
    rows = [(kind, str(n["tuning"]), str(n["held_out"])) for kind, n in counts.items()]
    total = ("all", str(len(golden) - len(held_out)), str(len(held_out)))
    _print_table(_console(), ("kind", paths[0].name, paths[1].name), [*rows, total])
    return 0


def _shares(text: str) -> float | dict[str, float]:
    try:
        if "=" not in text:
            return float(text)
        pairs = [one.split("=") for one in text.split(",")]
        return {kind.strip(): float(share) for kind, share in pairs}
    except ValueError:
        raise SettingsError(f"--held-out cannot be {text!r}; give a share such as 0.5, or kind=share,…") from None


def _mine(args: argparse.Namespace) -> int:
    from rungs.measure import mining

    of_history = {name: value for name in ("prefix", "limit") if (value := getattr(args, name)) is not None}
    if of_history and args.what != "history":
        flags = " or ".join(f"--{name}" for name in of_history)
        raise SettingsError(f"mine {args.what} takes no {flags}; leave out what is of mine history alone")
    if args.what == "confirm" and args.out is None:
        raise SettingsError("confirm needs a golden file to write; give --out FILE")
    corpus = _bench(args).corpus
    if args.what == "confirm":
        print(mining.confirm_file(args.source, args.out, corpus=corpus))
        return 0
    if args.what == "history":
        found = mining.mine_history(args.source, corpus, **of_history)
    else:
        found = mining.mine_issues(args.source, corpus)
    mining.write_drafts(found, args.out)
    print(f"{found.summary()}; next: rungs mine confirm", file=sys.stderr)
    return 0


def _plan(args: argparse.Namespace) -> int:
    from rungs.measure import Report, plan

    return _show(plan(Report.load(args.before), Report.load(args.after), args.difference, metric=args.metric), args)


def _copy(args: argparse.Namespace) -> int:
    from rungs.copying import copy_rung, import_hint

    written = copy_rung(args.rung, args.dest, overwrite=args.overwrite)
    for path in written:
        print(path)
    print(import_hint(args.rung, args.dest), file=sys.stderr)
    return 0


def _lab(args: argparse.Namespace) -> int:
    notebooks = Path(__file__).parent.parent / "notebooks"
    if not notebooks.is_dir():
        raise SettingsError(
            "the notebooks are in the repository, not in the installed package; run `make lab` in a clone"
        )
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", f"--notebook-dir={notebooks}", *args.rest])


# --- output


def _print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1))


def _console() -> Any:
    from rich.console import Console

    # A file or a pipe has no width; a terminal keeps its own, and tables fold to it.
    width = None if sys.stdout.isatty() else 200
    return Console(width=width, soft_wrap=not sys.stdout.isatty(), highlight=False)


def _print_table(console: Any, header: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        grid.add_column(name, overflow="fold")
    for row in cells:
        grid.add_row(*(printable(cell) for cell in row))
    console.print(grid, soft_wrap=False)


def _progress(items: Sequence[Any], quiet: bool) -> Iterable[Any]:
    from tqdm.auto import tqdm

    return tqdm(items, unit="query", disable=quiet or len(items) < 2)


if __name__ == "__main__":
    sys.exit(main())
