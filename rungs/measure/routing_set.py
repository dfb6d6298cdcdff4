"""Labelled queries that measure a router and nothing else: which should be looked up as a name, which searched.

The two errors are counted apart. A false positive, a question taken for a name, loses its answer; a false negative, a name
taken for a question, only gains less than it could.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from rungs.errors import GoldenError, RunError
from rungs.measure.intervals import Estimate, estimate
from rungs.measure.table import Table
from rungs.measure.textfiles import json_lines

__all__ = ["RoutingErrors", "RoutingQuery", "load_routing", "routing_errors"]

ROUTES = ("symbol", "prose")
SPLITS = ("tuning", "heldout")
_FIELDS = {"id": str, "q": str, "route": str, "names": list, "group": str, "split": str, "why": str}
_MAY_LACK = ("why",)


@dataclass(frozen=True, slots=True)
class RoutingQuery:
    """One line of a routing set.

    Attributes
    ----------
    id, q
        Name and text of the query.
    route
        Where a careful person would send it: ``symbol`` or ``prose``.
    names
        The identifiers in it that the corpus has, as written.
    group
        The kind of query.
    """

    id: str
    q: str
    route: Literal["symbol", "prose"]
    names: tuple[str, ...]
    group: str


class _Route(Protocol):
    to: str


class _Router(Protocol):
    def route(self, query: str) -> Any: ...


@dataclass(frozen=True)
class RoutingErrors:
    """What `routing_errors` returns.

    Attributes
    ----------
    false_positives
        Questions that were taken for names.
    false_negatives
        Names that were taken for questions.
    false_positive_rate, false_negative_rate
        Their shares, the one of all questions, the other of all names, each with its interval.
    by_group
        Share of wrong routes by group, in the order in which the groups first occur.
    """

    false_positives: tuple[RoutingQuery, ...]
    false_negatives: tuple[RoutingQuery, ...]
    false_positive_rate: Estimate
    false_negative_rate: Estimate
    by_group: dict[str, Estimate]

    def table(self) -> Table:
        """One row a group, and below them every query that went the wrong way."""
        wrong = [*self.false_positives, *self.false_negatives]
        rows = [
            (group, str(one["n"]), str(sum(query.group == group for query in wrong)), _shown(one))
            for group, one in self.by_group.items()
        ]
        questions, names = self.false_positive_rate, self.false_negative_rate
        notes = (
            f"false positives, questions taken for names: {_of(self.false_positives, questions)}",
            *(f"  {query.id}  {query.q}" for query in self.false_positives),
            f"false negatives, names taken for questions: {_of(self.false_negatives, names)}",
            *(f"  {query.id}  {query.q}" for query in self.false_negatives),
        )
        title = f"{len(wrong)} of {questions['n'] + names['n']} queries went the wrong way"
        return Table(title, ("group", "queries", "wrong", "rate"), rows, notes)

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "false_positive_rate": self.false_positive_rate,
            "false_negative_rate": self.false_negative_rate,
            "by_group": self.by_group,
            "false_positives": [_row(query) for query in self.false_positives],
            "false_negatives": [_row(query) for query in self.false_negatives],
        }

    def _repr_html_(self) -> str:
        return self.table().html()


def load_routing(path: str | Path, split: str | None = None) -> list[RoutingQuery]:
    """Read a routing set.

    Parameters
    ----------
    path
        A JSONL file in UTF-8; a byte order mark and blank lines are tolerated.
    split
        ``tuning``: the lines that choices may be made on. ``heldout``: those that only report. None: both.

    Returns
    -------
    list of RoutingQuery
        In file order, at least one.

    Raises
    ------
    GoldenError
        For the first line that is malformed or repeats an earlier one, whatever the split, or where no line is left.
    """
    if split is not None and split not in SPLITS:
        raise GoldenError(f"there is no split {split!r}; use one of {', '.join(SPLITS)}")
    path = Path(path)
    lines = list(_lines(path))
    queries = [query for query, part in lines if split in (None, part)]
    if not queries:
        what = "query" if not lines else f"query of the split {split!r}"
        raise GoldenError(f"{path}: holds no {what}; add one JSON object per line")
    return queries


def routing_errors(router: _Router, queries: Iterable[RoutingQuery]) -> RoutingErrors:
    """Route every query, and count what goes the wrong way.

    Parameters
    ----------
    router
        Any object with ``route(query)`` that returns something with ``to``, ``symbol`` or ``prose``.
    queries
        From `load_routing`.

    Raises
    ------
    RunError
        When there is no query, or the router gives another route than those two.
    """
    asked = list(queries)
    if not asked:
        raise RunError("there is no query to route; load some by load_routing")
    wrong = {query.id: _routed(router, query) != query.route for query in asked}
    questions = [query for query in asked if query.route == "prose"]
    names = [query for query in asked if query.route == "symbol"]
    groups = dict.fromkeys(query.group for query in asked)
    return RoutingErrors(
        false_positives=tuple(query for query in questions if wrong[query.id]),
        false_negatives=tuple(query for query in names if wrong[query.id]),
        false_positive_rate=_rate(questions, wrong),
        false_negative_rate=_rate(names, wrong),
        by_group={group: _rate([query for query in asked if query.group == group], wrong) for group in groups},
    )


def _routed(router: _Router, query: RoutingQuery) -> str:
    to = router.route(query.q).to
    if to not in ROUTES:
        raise RunError(f"the router sends {query.id} to {to!r}; it must be one of {', '.join(ROUTES)}")
    return to


def _rate(queries: Sequence[RoutingQuery], wrong: Mapping[str, bool]) -> Estimate:
    return estimate(float(wrong[query.id]) for query in queries)


def _shown(one: Estimate) -> str:
    return "no data" if one["value"] is None else f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"


def _of(wrong: Sequence[RoutingQuery], one: Estimate) -> str:
    return f"{len(wrong)} of {one['n']}, {_shown(one)}"


def _row(query: RoutingQuery) -> dict[str, Any]:
    names = ("id", "q", "route", "group")
    return {name: getattr(query, name) for name in names} | {"names": list(query.names)}


# --- the file


def _lines(path: Path) -> Iterator[tuple[RoutingQuery, str]]:
    """Every query with its split."""
    first: dict[str, int] = {}
    for number, row in json_lines(path, GoldenError):
        where = f"{path}:{number}"
        if not isinstance(row, dict):
            raise GoldenError(f'{where}: not a JSON object; write {{"id": ..., "q": ..., "route": ..., ...}}')
        _check(row, where)
        for name in ("id", "q"):
            key = f"{name} " + (row[name] if name == "id" else " ".join(row[name].casefold().split()))
            if (before := first.setdefault(key, number)) != number:
                raise GoldenError(
                    f"{where}: {name} {row[name]!r} was used on line {before} already; change or delete one"
                )
        yield RoutingQuery(row["id"], row["q"], row["route"], tuple(row["names"]), row["group"]), row["split"]


def _check(row: Mapping[str, Any], where: str) -> None:
    for name, wanted in _FIELDS.items():
        if name not in row and name not in _MAY_LACK:
            raise GoldenError(f"{where}: field {name!r} is missing; add it")
        if name in row and not isinstance(row[name], wanted):
            needs = "a list of strings" if wanted is list else "a string"
            raise GoldenError(f"{where}: field {name!r} is {json.dumps(row[name])}; make it {needs}")
    if unknown := [name for name in row if name not in _FIELDS]:
        raise GoldenError(f"{where}: unknown field {unknown[0]!r}; the fields are {', '.join(_FIELDS)}")
    for name in ("id", "q", "group"):
        if not row[name].strip():
            raise GoldenError(f"{where}: field {name!r} is empty; fill it in")
    for name, allowed in (("route", ROUTES), ("split", SPLITS)):
        if row[name] not in allowed:
            raise GoldenError(f"{where}: unknown {name} {row[name]!r}; use one of {', '.join(allowed)}")
    for name in row["names"]:
        if not isinstance(name, str) or not name.strip() or name not in row["q"]:
            raise GoldenError(
                f"{where}: {json.dumps(name)} under 'names' does not stand in the query; write it as there"
            )
