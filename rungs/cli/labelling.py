"""Commands that make golden files: labels are judged, drawn, drafted and read again."""

import argparse
import json
import sys
from typing import Any

from rungs.cli.flags import bench_of
from rungs.cli.output import make_console, print_json, print_table, show
from rungs.errors import SettingsError
from rungs.terminal import printable

__all__ = ["do_judge", "do_mine", "do_reread", "do_split"]


def do_judge(args: argparse.Namespace) -> int:
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
    golden = load_golden(args.golden, bench_of(args).corpus)
    judgements = Judgements(args.judgements or args.golden.with_name(f"{args.golden.stem}.judgements.jsonl"))
    if args.apply:
        if not judgements.path.is_file():
            raise SettingsError(f"there is no {judgements.path} to apply; judge first, or name it by --judgements")
        return _apply(golden, judgements, args)
    reports = {str(path): Report.load(path) for path in args.runs}
    of_kind = sum(question.kind == args.kind and not question.negative for question in golden.questions)
    ids = draw_questions(golden, args.kind, args.sample or min(60, max(of_kind, 1)), seed=args.seed)
    items = pool(list(reports.values()), golden, ids, depth=args.depth)
    if args.status:
        return show(judging_status(golden, judgements, items, reports, depth=args.depth), args)
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
        print_json({"places": places, "questions": questions, "judged_questions": judged})
    else:
        said = f"{places} places on {questions} questions are right as well, of {judged} questions judged"
        print(printable(f"{golden.path}: {said}; measure with --pooled to count them"))
    return 0


def do_split(args: argparse.Namespace) -> int:
    from collections import Counter

    from rungs.measure import draw_held_out, load_golden, write_split

    golden = load_golden(args.golden, bench_of(args).corpus)
    tuning = [name.strip() for name in args.tuning.split(",") if name.strip()]
    held_out = draw_held_out(golden, _shares(args.held_out), seed=args.seed, tuning=tuning)
    paths = write_split(golden, held_out, args.out, overwrite=args.overwrite)
    drawn = Counter((question.kind, question.id in held_out) for question in golden.questions)
    counts = {kind: {"tuning": drawn[kind, False], "held_out": drawn[kind, True]} for kind in golden.kinds}
    if args.json:
        print_json({"tuning": str(paths[0]), "held_out": str(paths[1]), "questions": counts})
        return 0
    rows = [(kind, str(n["tuning"]), str(n["held_out"])) for kind, n in counts.items()]
    total = ("all", str(len(golden) - len(held_out)), str(len(held_out)))
    print_table(make_console(), ("kind", paths[0].name, paths[1].name), [*rows, total])
    return 0


def _shares(text: str) -> float | dict[str, float]:
    try:
        if "=" not in text:
            return float(text)
        pairs = [one.split("=") for one in text.split(",")]
        return {kind.strip(): float(share) for kind, share in pairs}
    except ValueError:
        raise SettingsError(f"--held-out cannot be {text!r}; give a share such as 0.5, or kind=share,…") from None


def do_mine(args: argparse.Namespace) -> int:
    from rungs.measure import mining

    of_history = {name: value for name in ("prefix", "limit") if (value := getattr(args, name)) is not None}
    if of_history and args.what != "history":
        flags = " or ".join(f"--{name}" for name in of_history)
        raise SettingsError(f"mine {args.what} takes no {flags}; leave out what is of mine history alone")
    if args.what == "confirm" and args.out is None:
        raise SettingsError("confirm needs a golden file to write; give --out FILE")
    if args.what != "confirm" and args.out is not None and args.out.exists():
        raise SettingsError(f"--out {args.out} exists already; choose another name")
    corpus = bench_of(args).corpus
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


def do_reread(args: argparse.Namespace) -> int:
    from rungs.measure import load_golden
    from rungs.measure.second_reader import draw_sheet, read_answers
    from rungs.measure.textfiles import write_lines

    if args.out is not None and args.out.exists():
        raise SettingsError(f"--out {args.out} exists already; choose another name")
    golden = load_golden(args.golden, bench_of(args).corpus)
    sheet = draw_sheet(golden, args.share, seed=args.seed)
    if args.answers is not None:
        return show(read_answers(args.answers, golden, sheet), args)
    lines = [json.dumps(row, ensure_ascii=False) for row in sheet]
    if args.out is None:
        print("\n".join(lines))
    else:
        write_lines(args.out, lines)
    return 0
