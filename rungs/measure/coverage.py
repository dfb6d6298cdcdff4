"""What a golden file asks about, and what it never does.

A figure is of the questions that were asked. A folder without a label is one where retrieval may fail unseen; a kind
without questions is one that every table is silent about. A question in the words of its own answer is one that any
search by words will find.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from rungs.measure.golden import KINDS, Golden
from rungs.measure.table import Table
from rungs.measure.wording import Overlap, overlaps

__all__ = ["Coverage", "coverage"]

_DEPTH = 3
_CLOSE = 0.5


@dataclass(frozen=True)
class Coverage:
    """What `coverage` returns.

    Attributes
    ----------
    questions
        By kind, every kind there is; 0 for those nobody asks.
    files
        Files of the corpus by folder.
    labels
        Labels (of ``expect``) by folder; folders without one are missing.
    categories
        Labels by ``code``, ``test``, ``doc``, ``config``.
    labelled
        Files with a label, by folder.
    wording
        How much of each question is the wording of its answer, from `rungs.measure.overlaps`.
    """

    questions: dict[str, int]
    files: dict[str, int]
    labels: dict[str, int]
    categories: dict[str, int]
    labelled: dict[str, int]
    wording: tuple[Overlap, ...] = ()

    @property
    def close(self) -> list[Overlap]:
        """Questions more than half of which is the wording of their answer."""
        return [one for one in self.wording if one.share > _CLOSE]

    @property
    def untouched(self) -> dict[str, int]:
        """Folders in which nothing is labelled, with the files they hold; most first."""
        bare = {folder: n for folder, n in self.files.items() if folder not in self.labels}
        return dict(sorted(bare.items(), key=lambda item: (-item[1], item[0])))

    def table(self) -> Table:
        """One row a folder, those without a label first."""
        rows = [
            (folder, str(n), str(self.labelled.get(folder, 0)), str(self.labels.get(folder, 0)))
            for folder, n in sorted(self.files.items(), key=lambda i: (self.labels.get(i[0], 0), -i[1], i[0]))
        ]
        kinds = ", ".join(f"{kind} {n}" for kind, n in self.questions.items())
        categories = ", ".join(f"{category} {n}" for category, n in self.categories.items())
        bare = sum(self.untouched.values())
        title = f"{len(self.untouched)} of {len(self.files)} folders have no label ({bare} of {sum(self.files.values())} files)"
        header = ("folder", "files", "files labelled", "labels")
        return Table(title, header, rows, (f"questions: {kinds}", f"labels: {categories}", *self._wording_notes()))

    def _wording_notes(self) -> list[str]:
        if not self.wording:
            return []
        said = f"in the words of the answer: mean {self._mean:.2f}, at most {self.wording[0].share:.2f} of a question's words"
        head = f"{said}, over {_CLOSE} in {len(self.close)} of {len(self.wording)}"
        return [head, *(f"  {one.question}  {one.share:.2f}  {', '.join(one.words)}" for one in self.close)]

    @property
    def _mean(self) -> float:
        return sum(one.share for one in self.wording) / len(self.wording)

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        names = ("questions", "files", "labels", "categories", "labelled", "untouched")
        wording = {
            "n": len(self.wording),
            "mean": self._mean if self.wording else None,
            "max": self.wording[0].share if self.wording else None,
            "close": [asdict(one) for one in self.close],
        }
        return {name: getattr(self, name) for name in names} | {"wording": wording}

    def _repr_html_(self) -> str:
        return self.table().html()


def coverage(golden: Golden, *, depth: int = _DEPTH) -> Coverage:
    """Count a golden file's labels over the folders of its corpus.

    Parameters
    ----------
    golden
        From `rungs.measure.load_golden`.
    depth
        Folders are told apart by so many leading parts of their path.
    """
    by_kind = Counter(question.kind for question in golden.questions)
    paths = [label.path for question in golden.questions for label in question.expect]
    category = {file.path: file.category for file in golden.corpus.files}
    return Coverage(
        questions={kind: by_kind[kind] for kind in KINDS},
        files=dict(Counter(_folder(file.path, depth) for file in golden.corpus.files)),
        labels=dict(Counter(_folder(path, depth) for path in paths)),
        categories=dict(Counter(category[path] for path in paths).most_common()),
        labelled=dict(Counter(_folder(path, depth) for path in set(paths))),
        wording=tuple(overlaps(golden)),
    )


def _folder(path: str, depth: int) -> str:
    return "/".join(path.split("/")[:-1][:depth]) or "."
