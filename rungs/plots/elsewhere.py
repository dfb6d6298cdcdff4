"""Figures that others reported, to be set beside those measured here."""

import json
from pathlib import Path
from typing import Any

from rungs.errors import RunError

__all__ = ["published"]


def published(*topics: str) -> list[dict[str, Any]]:
    """Figures that others reported, each with its source.

    Parameters
    ----------
    topics
        Which ones; all of them if none is named.

    Returns
    -------
    list of dict
        ``topic, system, metric, value, n, source, note``. ``value`` is in the unit of its metric, a share between 0 and
        1 and never in percent; ``n`` is ``None`` where the source does not say.

    Raises
    ------
    RunError
        When a topic is not in the file.
    """
    package = Path(__file__).parents[1]
    folder = package / "_data"  # of an installed package; a checkout has them in data/
    text = ((folder if folder.is_dir() else package.parent / "data") / "published.json").read_text(encoding="utf-8")
    data = json.loads(text)
    known = list(dict.fromkeys(figure["topic"] for figure in data["figures"]))
    for topic in topics:
        if topic not in known:
            raise RunError(f"nothing is published under {topic!r}; the topics are {', '.join(known)}")
    wanted = topics or known
    figures = [figure for figure in data["figures"] if figure["topic"] in wanted]
    return [figure | {"source": data["sources"][figure["source"]]} for figure in figures]
