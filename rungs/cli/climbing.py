"""``rungs ladder``: every rung, measured in one go."""

import argparse
import sys
import time
from typing import Any

from rungs.cli.flags import bench_of
from rungs.cli.output import make_console, print_json, print_table
from rungs.terminal import printable

__all__ = ["do_ladder"]


def do_ladder(args: argparse.Namespace) -> int:
    from rungs import ladder
    from rungs.corpus import fetch, pins
    from rungs.measure import find_golden, load_golden

    bench = bench_of(args)
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
        print_json(result.to_dict())
    else:
        _print_ladder(result)
    return 1 if result.failed else 0


def _print_ladder(result: Any) -> None:
    from rungs import ladder

    console = make_console()
    console.print(ladder.caption(result), style="bold", markup=False)
    print_table(console, *ladder.table(result))
    console.print("recall@8 by kind of question", style="bold")
    print_table(console, *ladder.kind_table(result))
    console.print(ladder.PAIRED_SAYS, style="bold", markup=False, highlight=False)
    print_table(console, *ladder.paired_table(result))
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
