"""Draw the held-out half of a golden file.

Halves that are drawn at random, kind by kind, are exchangeable: what a change does to one it can be expected to do to the
other, and a figure that is better on the half that choices were made on says how much the choosing flattered it. Halves
taken in the order of writing, or by author, say nothing of the sort.

Questions that are nearly one, or that somebody says are one (the same question in two languages), fall on one side.
"""

import json
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rungs.errors import GoldenError
from rungs.measure.split import is_held_out, nearly_one
from rungs.measure.textfiles import write_lines

if TYPE_CHECKING:
    from rungs.measure.golden import Golden

__all__ = ["draw_held_out", "write_split"]


def draw_held_out(
    golden: "Golden",
    share: float | Mapping[str, float] = 0.5,
    *,
    seed: int = 0,
    tuning: Collection[str] = (),
    together: Sequence[Collection[str]] = (),
) -> frozenset[str]:
    """Draw the questions that will only report.

    Parameters
    ----------
    golden
        Every question there is.
    share
        Of each kind, between 0 and 1; by kind where they differ (kinds not named: one half). Groups of several questions
        get in with this chance; single questions then fill what is left of each kind, and groups what these leave.
    seed
        The draw is the same for the same file and seed.
    tuning
        Ids that have been looked at and must stay on the tuning side, with all that is nearly the same.
    together
        Groups of ids that are to fall on one side, besides those that `rungs.measure.split` takes for one.

    Returns
    -------
    frozenset of str
        Ids. Of each kind as many as asked for, or fewer where groups do not fit.

    Raises
    ------
    GoldenError
        For a share outside 0 to 1, a kind or an id that is not in the file, or a file that only reports already.
    """
    if golden.held_out:
        raise GoldenError(
            f"{golden.path}: only reports already; draw from a file of questions that are on neither side"
        )
    asked = Counter(question.kind for question in golden.questions)
    if isinstance(share, Mapping) and (unknown := set(share) - set(asked)):
        raise GoldenError(f"{golden.path}: has no question of kind {min(unknown)!r}; it has {', '.join(golden.kinds)}")
    quota = {kind: round(_share(share, kind) * n) for kind, n in asked.items()}
    kind_of = {question.id: question.kind for question in golden.questions}
    for name in (*tuning, *(name for group in together for name in group)):
        if name not in kind_of:
            raise GoldenError(f"{golden.path}: no question has id {name!r}; check it")
    kept = frozenset(tuning)
    free = [group for group in _groups(golden, together) if not kept & group]
    # the draw hangs on what the questions are, not on where they stand in the file
    random.Random(seed).shuffle(free := sorted(free, key=min))
    large = sorted((group for group in free if len(group) > 1), key=len, reverse=True)
    chance = {group: random.Random(f"{seed}{min(group)}").random() for group in large}
    lucky = [group for group in large if chance[group] >= 1 - _mean_share(share, group, kind_of)]
    single = [group for group in free if len(group) == 1]
    drawn: set[str] = set()
    for group in dict.fromkeys([*lucky, *single, *large]):
        needed = Counter(kind_of[name] for name in group)
        if not group & drawn and all(quota[kind] >= n for kind, n in needed.items()):
            drawn |= group
            quota = {kind: n - needed[kind] for kind, n in quota.items()}
    return frozenset(drawn)


def write_split(
    golden: "Golden", held_out: Collection[str], target: Path, *, overwrite: bool = False
) -> tuple[Path, Path]:
    """Write the two files, each line as it stands in the golden file.

    Parameters
    ----------
    golden
        What was drawn from.
    held_out
        From `draw_held_out`.
    target
        The tuning file, such as ``golden/mine.jsonl``; the held-out one goes next to it as ``mine.heldout.jsonl``.
    overwrite
        Whether files there may be replaced.

    Returns
    -------
    (pathlib.Path, pathlib.Path)
        The two files.

    Raises
    ------
    GoldenError
        When a file is in the way or cannot be written, or one side would be empty.
    """
    if target.suffix != ".jsonl":
        raise GoldenError(f"{target} does not end in .jsonl; name the tuning file NAME.jsonl")
    if is_held_out(target.stem):
        raise GoldenError(f"{target} is the name of a held-out file; name the tuning file, the other goes next to it")
    other = target.with_name(f"{target.stem}.heldout{target.suffix}")
    lines = {}
    for line in golden.path.read_text(encoding="utf-8-sig").split("\n"):
        if line.strip():
            lines[json.loads(line)["id"]] = line
    sides = {
        target: [v for k, v in lines.items() if k not in held_out],
        other: [v for k, v in lines.items() if k in held_out],
    }
    for path, side in sides.items():
        if not side:
            raise GoldenError(f"{path} would hold no question; choose another share")
        if path.exists() and not overwrite:
            raise GoldenError(f"{path} exists already; choose another name, or give --overwrite")
        if path.exists() and path.samefile(golden.path):
            raise GoldenError(f"{path} is the file that is drawn from; choose another name")
    for path in (other, target):  # a held-out file alone is checked against nothing, a tuning file alone looks whole
        write_lines(path, sides[path])
    return target, other


def _share(share: float | Mapping[str, float], kind: str) -> float:
    value = share.get(kind, 0.5) if isinstance(share, Mapping) else share
    if not 0 <= value <= 1:
        raise GoldenError(f"the held-out share of {kind} is {value:g}; give one between 0 and 1")
    return value


def _mean_share(share: float | Mapping[str, float], group: Collection[str], kind_of: Mapping[str, str]) -> float:
    return sum(_share(share, kind_of[name]) for name in group) / len(group)


def _groups(golden: "Golden", together: Sequence[Collection[str]]) -> list[frozenset[str]]:
    """Every question in the group of those it may not be parted from."""
    group = {question.id: frozenset({question.id}) for question in golden.questions}
    pairs = [(a.id, b.id) for a, b in nearly_one(golden.questions)]
    for names in (*pairs, *together):
        merged = frozenset().union(*(group[name] for name in names))
        group |= dict.fromkeys(merged, merged)
    return list(dict.fromkeys(group.values()))
