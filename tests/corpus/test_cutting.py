"""Cuts: everything is kept, nothing is too large, and the cheapest places are taken."""

from hypothesis import given
from hypothesis import strategies as st

from rungs.corpus.cutting import cut, slices, windows

LINES = st.lists(st.text(alphabet="ab \t", max_size=40), max_size=60)


def test_cut_prefers_boundaries_to_equal_sizes() -> None:
    assert cut([4, 4, 4, 4], [0, 9, 9, 0], first=12, rest=12) == [(0, 3), (3, 4)]
    assert cut([5, 5, 5, 5], [0, 9, 0, 9], first=12, rest=12) == [(0, 2), (2, 4)]


def test_cut_pays_one_more_piece_to_spare_a_statement() -> None:
    inside = 10.0
    costs = [0.0, inside, 0.0, inside, inside, 0.0]
    assert cut([4, 4, 4, 4, 4, 4], costs, first=12, rest=12) == [(0, 2), (2, 5), (5, 6)]


def test_the_first_piece_has_room_of_its_own() -> None:
    assert cut([5, 5, 5], [0, 0, 0], first=5, rest=10) == [(0, 1), (1, 3)]
    assert cut([5, 5, 5], [0, 0, 0], first=10, rest=5) == [(0, 2), (2, 3)]


def test_a_line_that_is_too_large_stands_alone() -> None:
    assert cut([1, 50, 1], [0, 0, 0], first=10, rest=10) == [(0, 1), (1, 2), (2, 3)]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0.0, 1.0, 2.5, 10.0])), max_size=80),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_pieces_cover_all_lines_in_order_and_fit(rows: list[tuple[int, float]], first: int, rest: int) -> None:
    sizes = [size for size, _ in rows]
    pieces = cut(sizes, [cost for _, cost in rows], first, rest)
    assert [index for start, end in pieces for index in range(start, end)] == list(range(len(rows)))
    for start, end in pieces:
        assert end - start == 1 or sum(sizes[start:end]) <= (first if start == 0 else rest)


@given(LINES, st.integers(5, 60), st.integers(0, 20))
def test_windows_show_the_lines_they_name(lines: list[str], size: int, overlap: int) -> None:
    found = windows(lines, size=size, overlap=min(overlap, size // 3))
    covered = set()
    for window in found:
        assert len(window.text) <= size
        assert window.text.strip() or window.start_line == window.end_line
        whole = "\n".join(lines[window.start_line - 1 : window.end_line])
        assert window.text == whole or (window.start_line == window.end_line and window.text in whole)
        covered.update(range(window.start_line, window.end_line + 1))
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= covered
    assert [window.start_line for window in found] == sorted(window.start_line for window in found)


def test_windows_overlap_by_whole_lines() -> None:
    lines = [f"line {number:03} " + "x" * 90 for number in range(40)]  # 99 characters each
    found = windows(lines)
    assert [(w.start_line, w.end_line) for w in found[:3]] == [(1, 10), (9, 18), (17, 26)]
    assert max(len(w.text) for w in found) <= 1000
    assert found[-1].end_line == 40


def test_a_long_line_is_cut_inside() -> None:
    line = " ".join(f"word{number}" for number in range(700))
    found = windows(["before", line, "after"])
    assert [(w.start_line, w.end_line) for w in found] == [(1, 1)] + [(2, 2)] * (len(found) - 2) + [(3, 3)]
    for word in line.split():
        assert any(word in window.text.split() for window in found)


@given(st.text(alphabet="ab ", max_size=200), st.integers(2, 30))
def test_slices_put_together_are_the_line(line: str, size: int) -> None:
    pieces = slices(line, size)
    assert "".join(pieces) == line
    assert all(0 < len(piece) <= size for piece in pieces)
