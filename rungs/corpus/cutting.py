"""Cut a run of lines into pieces that fit, where it hurts least.

Three cuts: ``cut`` minimises the number of pieces and the cost of the places they are cut at, under a bound on tokens;
``windows`` is rung 1, a fixed number of characters with an overlap; ``slices`` cuts within one overlong line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["OVERLAP", "WINDOW", "Window", "cut", "slices", "windows"]

WINDOW = 1000
OVERLAP = 200
_PIECE = 6.0  # what one piece more costs: it pays to avoid a cut inside a statement (10), not one at a deep statement


@dataclass(frozen=True, slots=True)
class Window:
    """Lines ``start_line`` to ``end_line`` (1-based, inclusive), or a piece of one line."""

    start_line: int
    end_line: int
    text: str


def cut(tokens: Sequence[int], costs: Sequence[float], first: int, rest: int) -> list[tuple[int, int]]:
    """Cut lines into consecutive pieces of bounded size at the lowest total cost.

    Parameters
    ----------
    tokens
        Size of each line.
    costs
        Cost of a cut before each line; the first is not used.
    first, rest
        Most that fits into the first piece, and into every later one. A single line that is larger makes a piece of
        its own.

    Returns
    -------
    list of (int, int)
        Half-open ranges of indices, in order, that cover all lines.

    Examples
    --------
    >>> cut([5, 5, 5, 5], [0, 9, 0, 9], first=12, rest=12)
    [(0, 2), (2, 4)]
    """
    total = len(tokens)
    best = [0.0] + [float("inf")] * total  # best[i]: cost of cutting the first i lines
    origin = [0] * (total + 1)
    floor = min(costs[1:], default=0.0)
    for end in range(1, total + 1):
        size = 0
        for start in range(end - 1, -1, -1):
            size += tokens[start]
            if size > (rest if start else first) and end - start > 1:
                if size > max(first, rest):
                    break
                continue
            cost = best[start] + (_PIECE + costs[start] - floor if start else 0.0)
            if cost < best[end]:
                best[end], origin[end] = cost, start
    pieces = []
    end = total
    while end > 0:
        pieces.append((origin[end], end))
        end = origin[end]
    return pieces[::-1]


def windows(lines: Sequence[str], *, size: int = WINDOW, overlap: int = OVERLAP) -> list[Window]:
    """Cut text into windows of at most ``size`` characters that overlap by at most ``overlap``.

    Windows begin and end at line ends, so the lines they name are the lines they show; only a line longer than a window
    is cut inside. Blank lines at the edges of a window are left out, as are windows that would be blank.

    Examples
    --------
    >>> [(w.start_line, w.end_line) for w in windows(["aaaa", "bbbb", "cccc"], size=10, overlap=5)]
    [(1, 2), (2, 3)]
    """
    found: list[Window] = []
    start = 0
    while start < len(lines):
        if len(lines[start]) > size:
            found += [Window(start + 1, start + 1, piece) for piece in slices(lines[start], size, overlap)]
            start += 1
            continue
        end, used = start, 0
        while end < len(lines) and used + len(lines[end]) + (end > start) <= size:
            used += len(lines[end]) + (end > start)
            end += 1
        found += _trimmed(lines, start, end)
        if end >= len(lines):
            break
        start = _overlapping(lines, start, end, overlap)
    return found


def slices(line: str, size: int, overlap: int = 0) -> list[str]:
    """Cut one line into pieces of at most ``size`` characters, between words where there are any.

    Examples
    --------
    >>> slices("one two three", 8)
    ['one two ', 'three']
    """
    pieces = []
    start = 0
    while start < len(line):
        end = min(len(line), start + size)
        if end < len(line):
            space = line.rfind(" ", start + size // 2, end)
            end = space + 1 if space > 0 else end
        pieces.append(line[start:end])
        if end >= len(line):
            break
        start = max(end - overlap, start + 1)
    return pieces


def _overlapping(lines: Sequence[str], start: int, end: int, overlap: int) -> int:
    """Find where the next window starts: as far back from ``end`` as the overlap allows, but after ``start``."""
    if len(lines[end]) > WINDOW:
        return end
    used = 0
    following = end
    while following - 1 > start and used + len(lines[following - 1]) + 1 <= overlap:
        following -= 1
        used += len(lines[following]) + 1
    return following


def _trimmed(lines: Sequence[str], start: int, end: int) -> list[Window]:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return [Window(start + 1, end, "\n".join(lines[start:end]))] if start < end else []
