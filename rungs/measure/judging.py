"""The judge's desk: one item after another, in a terminal or in Jupyter.

Both show the question, the place and its source, and nothing else: not which system found it, not at what rank, not what
another judge said. Each verdict is on the disk before the next item is shown, so stopping at any time loses nothing.
"""

import hashlib
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from rungs.errors import GoldenError, RungsError
from rungs.measure.pooling import VERDICTS, Agreement, Item, Judgements, agreement, judged_share
from rungs.terminal import printable

if TYPE_CHECKING:
    from ipywidgets import VBox

    from rungs.measure.golden import Golden
    from rungs.measure.report import Report

__all__ = ["JudgingSession", "JudgingStatus", "judge_in_terminal", "judge_widget", "judging_status", "second_sample"]

_WIDEST = 400  # characters of a line; one of a data file may hold a megabyte
_TAB = 4
_COMMANDS = {"r": "right", "n": "not", "u": "unsure", "b": "back", "q": "quit"}
_ASK = "[r]ight  [n]ot  [u]nsure  [b]ack  [q]uit > "


class JudgingSession:
    """One judge going through a pool; what they have judged before is behind them.

    Parameters
    ----------
    items
        From `rungs.measure.pool`, in the order in which they are shown.
    judgements
        The file that verdicts are added to.
    judge
        Whose verdicts they are.

    Examples
    --------
    ``session.answer("right")`` judges ``session.current`` and goes on; ``session.back()`` returns to the one before.
    """

    def __init__(self, items: Sequence[Item], judgements: Judgements, judge: str) -> None:
        still_open = judgements.open_items(items, judge)
        behind = set(items).difference(still_open)
        self._items = [*(item for item in items if item in behind), *still_open]
        self._at = len(items) - len(still_open)
        self._judgements = judgements
        self.judge = judge

    @property
    def current(self) -> Item | None:
        """What is to be judged now; None when everything is."""
        return None if self.done else self._items[self._at]

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._items)

    @property
    def progress(self) -> tuple[int, int]:
        """How many items lie behind, and how many there are."""
        return self._at, len(self._items)

    def answer(self, verdict: str) -> None:
        """Judge the current item; the verdict is on the disk when this returns.

        Raises
        ------
        GoldenError
            When nothing is left to judge, for an unknown verdict, or when the file cannot be written.
        """
        if self.done:
            raise GoldenError(f"{self._judgements.path}: {self.judge!r} has judged everything; pool more questions")
        self._judgements.add(self._items[self._at], verdict, self.judge)
        self._at += 1

    def back(self) -> None:
        """Return to the item before, to judge it anew; its verdict stands until then."""
        self._at = max(0, self._at - 1)


def second_sample(items: Sequence[Item], judgements: Judgements, judge: str, n: int, *, seed: int = 0) -> list[Item]:
    """Draw items that somebody else has judged, whatever they said, to see how far two judges agree.

    The same ones for the same seed, so a second judging that was interrupted goes on where it was.

    Raises
    ------
    GoldenError
        When others have judged fewer.
    """
    others = [name for name in judgements.judges if name != judge]
    still_open = [set(judgements.open_items(items, other)) for other in others]
    judged = [item for item in items if any(item not in rest for rest in still_open)]
    if len(judged) < n:
        raise GoldenError(
            f"{judgements.path}: others than {judge!r} have judged {len(judged)} of these items; "
            "ask for at most so many, under another name"
        )
    drawn = set(sorted(judged, key=lambda item: _drawn(seed, item))[:n])
    return [item for item in items if item in drawn]


def _drawn(seed: int, item: Item) -> str:
    return hashlib.sha256(f"{seed}\n{item.question}\n{item.place}".encode()).hexdigest()


# --- how far it has come


@dataclass(frozen=True, slots=True)
class JudgingStatus:
    """What `judging_status` returns.

    Attributes
    ----------
    questions, items
        How many are pooled.
    judges
        By name, how many of these items each has ``judged``, and how many are ``open``.
    runs
        By name, what `judged_share` says.
    agreement
        By pair of judges; None where they judged nothing in common.
    """

    questions: int
    items: int
    judges: dict[str, dict[str, int]]
    runs: dict[str, dict[str, Any]]
    agreement: dict[tuple[str, str], Agreement | None]

    def summary(self) -> str:
        """Lines for a terminal."""
        lines = [f"{self.items} items on {self.questions} questions"]
        lines += [f"  {name}: {n['judged']} judged, {n['open']} open" for name, n in self.judges.items()]
        lines += ["share of hits judged, on the questions that were begun" if self.judges else "nobody has judged yet"]
        lines += [f"  {name}: {_said(share)}" for name, share in self.runs.items() if self.judges]
        lines += ["agreement"] if self.agreement else []
        return "\n".join([*lines, *(f"  {a} and {b}: {_agreed(found)}" for (a, b), found in self.agreement.items())])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        pairs = [
            {"judges": list(names), **(asdict(found) if found else {"n": 0})} for names, found in self.agreement.items()
        ]
        return {name: getattr(self, name) for name in self.__slots__} | {"agreement": pairs}


def judging_status(
    golden: "Golden",
    judgements: Judgements,
    items: Sequence[Item],
    reports: Mapping[str, "Report"],
    *,
    depth: int = 8,
) -> JudgingStatus:
    """Say how far the judging of a pool has come, and how far judges agree."""
    still_open = {judge: len(judgements.open_items(items, judge)) for judge in judgements.judges}
    return JudgingStatus(
        questions=len({item.question for item in items}),
        items=len(items),
        judges={judge: {"judged": len(items) - n, "open": n} for judge, n in still_open.items()},
        runs={name: judged_share(report, golden, judgements, depth=depth) for name, report in reports.items()},
        agreement={pair: _agreement(judgements, *pair, golden) for pair in combinations(judgements.judges, 2)},
    )


def _agreement(judgements: Judgements, first: str, second: str, golden: "Golden") -> Agreement | None:
    try:
        return agreement(judgements, first, second, golden)
    except GoldenError:
        return None


def _said(share: Mapping[str, Any]) -> str:
    if not share["n"]:
        return "no data"
    interval = "" if share["low"] is None else f" [{share['low']:.2f}, {share['high']:.2f}]"
    return f"{share['value']:.2f}{interval} n={share['n']}"


def _agreed(found: Agreement | None) -> str:
    if found is None:
        return "judged nothing in common"
    kappa = "no kappa, both gave one verdict throughout" if found.kappa is None else f"kappa {found.kappa:.2f}"
    return f"{_said(found.agreed)}, {kappa}, {found.unsure} unsure left out"


# --- what is shown


def _source(item: Item) -> str:
    """The source with its line numbers."""
    lines = item.text.split("\n")
    numbers = item.numbers or range(item.start_line, item.start_line + len(lines))
    width = len(str(max((number for number in numbers if number is not None), default=0)))
    return "\n".join(
        f"{'' if number is None else number:>{width}}  {_cut(printable(line.expandtabs(_TAB)))}".rstrip()
        for number, line in zip(numbers, lines, strict=True)
    )


def _cut(line: str) -> str:
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"


# --- in a terminal


def judge_in_terminal(
    session: JudgingSession, *, read: Callable[[str], str] = input, write: Callable[[str], None] = print
) -> None:
    """Ask for one verdict after another until everything is judged, or the judge stops (``q``, end of input, Ctrl-C).

    Parameters
    ----------
    session
        What is judged.
    read, write
        How an answer is asked for, and how text is shown.
    """
    try:
        while (item := session.current) is not None:
            write(_sheet(item, session))
            if (verdict := _asked(read, write)) == "quit":
                break
            if verdict == "back":
                session.back()
            else:
                session.answer(verdict)
    except (EOFError, KeyboardInterrupt):
        write("")
    behind, of = session.progress
    write("everything is judged" if session.done else f"{behind} of {of} judged; the same command goes on from here")


def _sheet(item: Item, session: JudgingSession) -> str:
    behind, of = session.progress
    head = f"\n── {behind + 1} of {of} ──\n{printable(item.q)}\n\n{printable(item.place)}"
    return f"{head}\n\n{_source(item)}\n"


def _asked(read: Callable[[str], str], write: Callable[[str], None]) -> str:
    while True:
        said = read(_ASK).strip().casefold()
        if said and said in (said[0], _COMMANDS.get(said[0])) and said[0] in _COMMANDS:
            return _COMMANDS[said[0]]
        write("answer r, n, u, b or q")


# --- in Jupyter


def judge_widget(session: JudgingSession) -> "VBox":
    """The same in a notebook: buttons in place of letters.

    Parameters
    ----------
    session
        What is judged.

    Returns
    -------
    ipywidgets.VBox
        Progress, buttons, a line for errors, question, place, and source, in this order.
    """
    import ipywidgets as widgets

    bar, said = widgets.IntProgress(min=0), widgets.HTML()
    question, place, source = widgets.HTML(), widgets.HTML(), widgets.HTML()
    buttons = [widgets.Button(description=name) for name in (*VERDICTS, "back")]

    def show() -> None:
        item, (behind, of) = session.current, session.progress
        bar.max, bar.value, bar.description = max(of, 1), behind, f"{behind} of {of}"
        question.value = f"<strong>{_escaped(item.q)}</strong>" if item else "everything is judged"
        place.value = f"<code>{_escaped(item.place)}</code>" if item else ""
        source.value = f"<pre>{html.escape(_source(item))}</pre>" if item else ""
        for button in buttons:
            button.disabled = behind == 0 if button.description == "back" else item is None

    def clicked(button: Any) -> None:
        said.value = ""
        try:
            session.back() if button.description == "back" else session.answer(button.description)
        except RungsError as error:
            said.value = _escaped(str(error))  # an exception in a callback would be seen by nobody
        show()

    for button in buttons:
        button.on_click(clicked)
    show()
    return widgets.VBox([bar, widgets.HBox(buttons), said, question, place, source])  # buttons that do not wander


def _escaped(text: str) -> str:
    return html.escape(printable(text))
