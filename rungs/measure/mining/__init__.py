"""Mine drafts of golden questions from what people wrote anyway: commits and issues. A person confirms each.

Whoever fixed something said in a line what was wrong, and the change says where. Whoever opened an issue asked without
having read the answer. Neither is a golden question yet: a subject may be about something else than the lines it
touched, and an issue's traceback may only pass through what it names. So nothing here is measured with before `confirm`
was answered for it, line by line, with the source on the screen.

The repository may be anybody's. ``git`` is only asked to list commits and print blobs, with everything switched off by
which a repository's own settings could run a command or reach a network.
"""

from rungs.measure.mining.confirm import confirm, confirm_file, confirmed, read_decisions
from rungs.measure.mining.drafts import CLOSE, Draft, Drafts, read_drafts, write_drafts
from rungs.measure.mining.history import mine_history
from rungs.measure.mining.issues import mine_issues

__all__ = [
    "CLOSE",
    "Draft",
    "Drafts",
    "confirm",
    "confirm_file",
    "confirmed",
    "mine_history",
    "mine_issues",
    "read_decisions",
    "read_drafts",
    "write_drafts",
]
