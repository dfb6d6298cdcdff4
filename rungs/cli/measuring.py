"""Commands that measure, and that say what measurements mean."""

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from rungs.cli.flags import bench_of, endpoint_of
from rungs.cli.output import print_json, show
from rungs.errors import RunError, SettingsError
from rungs.settings import Endpoint, Settings
from rungs.terminal import printable

__all__ = [
    "do_compare",
    "do_coverage",
    "do_eval",
    "do_explain",
    "do_gate",
    "do_plan",
    "do_regressions",
    "do_routes",
    "do_smoke",
    "do_sweep",
]


def do_eval(args: argparse.Namespace) -> int:
    from rungs.measure import append, evaluate, load_golden, load_run

    endpoint = endpoint_of(args) if args.judge else None  # before minutes are spent
    bench = bench_of(args)
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
        print_json(report.to_dict() | {name: result.to_dict() for name, (result, _) in further.items()})
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


def _looked_at(path: Path | None, bench: Any, command: str) -> Any:
    """The questions of a command that keeps no report; a look at a held-out file is counted all the same."""
    from rungs.measure import find_golden, load_golden, note_look

    golden = load_golden(path or find_golden(bench.settings.corpus), bench.corpus)
    if (look := note_look(golden, bench.home / "ledger.jsonl", label=command)) is not None:
        said = f"{golden.name} is held out: look number {look}, counted in the ledger; choose nothing by it"
        print(printable(said), file=sys.stderr)
    return golden


def do_gate(args: argparse.Namespace) -> int:
    from rungs.measure import Report, evaluate, gate

    bench = bench_of(args)
    baseline = Report.load(args.baseline)
    golden = _looked_at(args.golden, bench, "gate")
    now = evaluate(bench.funnel(), golden, pooled=baseline.pooled, latency=False, progress=not args.quiet)
    result = gate(baseline, now, margin=args.margin)
    show(result, args)
    return 0 if result.passed else 1


def do_smoke(args: argparse.Namespace) -> int:
    from rungs.measure import Locator, find_golden

    bench = bench_of(args)
    golden = _looked_at(args.file or find_golden(f"{bench.settings.corpus}.smoke"), bench, "smoke")
    funnel, locator = bench.funnel(), Locator(golden.corpus)
    found = {q.id: _smoked(funnel, q, locator) for q in golden.questions if not q.negative}
    lost = {id: why for id, (rank, why) in found.items() if rank is None}
    if args.json:
        print_json({"lost": lost, "ranks": {id: rank for id, (rank, _) in found.items()}})
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


def do_explain(args: argparse.Namespace) -> int:
    from rungs.measure import explain

    bench = bench_of(args)
    golden = _looked_at(args.golden, bench, "explain")
    return show(explain(bench.funnel(), args.id, golden, k=bench.settings.top_k), args)


def do_regressions(args: argparse.Namespace) -> int:
    from rungs.measure import Report, find_regressions

    bench = bench_of(args)
    baseline = Report.load(args.baseline)
    golden = _looked_at(args.golden, bench, "regressions")
    found = find_regressions(baseline, bench.funnel(), golden, k=bench.settings.top_k, progress=not args.quiet)
    return show(found, args)


def do_sweep(args: argparse.Namespace) -> int:
    from rungs.measure import find_golden, load_golden, sweep

    bench = bench_of(args)
    field = next(f for f in fields(Settings) if f.metadata["flag"] == args.setting)
    texts = args.values.split(";")
    if len(texts) < 2:
        raise SettingsError(f"{args.values!r} is one value; give two or more, with semicolons between them")
    values = [_as_setting(field, text.strip()) for text in texts]
    golden = load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)
    file = Path(args.controls)
    controls = load_golden(file, bench.corpus) if file.suffix == ".jsonl" else args.controls.split(",")
    found = sweep(field.name, values, golden, controls, make=bench.funnel, progress=not args.quiet)
    return show(found, args)


def _as_setting(field: Any, text: str) -> Any:
    try:
        return type(field.default)(text)
    except ValueError:
        wanted = type(field.default).__name__
        what = f"--{field.metadata['flag']} cannot be {text!r}"
        raise SettingsError(f"{what}; give values of type {wanted}, with semicolons between them") from None


def do_compare(args: argparse.Namespace) -> int:
    from rungs.measure import Report, compare

    stems = [path.stem for path in args.reports]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in args.reports]
    if len(set(names)) < len(names):
        raise RunError("the same report is named twice; give two different ones")
    reports = {name: Report.load(path) for name, path in zip(names, args.reports, strict=True)}
    return show(compare(reports, margin=args.margin), args)


def do_coverage(args: argparse.Namespace) -> int:
    from rungs.measure import coverage, find_golden, load_golden

    bench = bench_of(args)
    return show(coverage(load_golden(args.golden or find_golden(bench.settings.corpus), bench.corpus)), args)


def do_routes(args: argparse.Namespace) -> int:
    from rungs.measure import find_golden, load_routing, routing_errors

    bench = bench_of(args)
    queries = load_routing(
        args.file or find_golden(f"{bench.settings.corpus}.routing"), None if args.split == "both" else args.split
    )
    return show(routing_errors(bench.router(), queries), args)


def do_plan(args: argparse.Namespace) -> int:
    from rungs.measure import Report, plan

    return show(plan(Report.load(args.before), Report.load(args.after), args.difference, metric=args.metric), args)
