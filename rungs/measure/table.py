"""A small table that looks the same in a terminal and in Jupyter."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table"]

_WIDEST = 72


@dataclass(frozen=True)
class Table:
    """Cells of text under a header, with a line above and lines below.

    Parameters
    ----------
    title
        What the table shows.
    header
        Column names.
    rows
        Cells, as many a row as there are columns.
    notes
        What one must know to read it.

    Examples
    --------
    >>> print(Table("Found", ("who", "rank"), [("dense", "1"), ("bm25", "12")]).text())
    Found
      who    rank
      dense  1
      bm25   12
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())

    def text(self) -> str:
        """Aligned columns; cells that are too long are cut, and end in an ellipsis."""
        lines = [[_cut(_plain(cell)) for cell in row] for row in (self.header, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        drawn = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in drawn), *(f"  {note}" for note in self.notes)])

    def html(self) -> str:
        """An HTML table; everything is escaped."""
        head = "".join(f"<th style='text-align:left'>{html.escape(name)}</th>" for name in self.header)
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes)
        return (
            f"<div><strong>{html.escape(self.title)}</strong></div>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{notes}"
        )

    def frame(self) -> "pd.DataFrame":
        """The cells as a DataFrame."""
        import pandas as pd

        return pd.DataFrame([list(row) for row in self.rows], columns=list(self.header))


def _plain(cell: str) -> str:
    """A cell on one line, without characters that move the cursor."""
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in cell)


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else cell[: _WIDEST - 1] + "…"
