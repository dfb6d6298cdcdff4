"""Text from a corpus, a history or a golden file on somebody's terminal."""

__all__ = ["printable"]


def printable(text: str, *, keep: str = "", tab: str = " ") -> str:
    """Text that can drive neither a terminal nor the order in which it is read: control characters become visible.

    Parameters
    ----------
    text
        Anything.
    keep
        Characters that may stand as they are, such as a line end.
    tab
        What a tab becomes.

    Examples
    --------
    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    shown = (c if c.isprintable() or c in keep else tab if c == "\t" else f"\\x{ord(c):02x}" for c in text)
    return "".join(shown).encode("utf-8", "backslashreplace").decode("utf-8")
