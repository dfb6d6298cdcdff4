"""Every error a user can cause, one type per kind of trouble.

Each message is one line: what is wrong, where, what to do. The command line prints that line and exits 2.
"""

__all__ = ["CorpusError", "GoldenError", "ModelError", "RunError", "RungsError", "SettingsError", "StoreError"]


class RungsError(Exception):
    """Base of all errors raised on purpose by this package."""


class SettingsError(RungsError):
    """A flag or ``RAG_*`` variable has a value that cannot be used."""


class CorpusError(RungsError):
    """A corpus is unknown, cannot be fetched or verified, or holds nothing to index."""


class GoldenError(RungsError):
    """A golden file is malformed, or one of its labels does not resolve in the corpus."""


class ModelError(RungsError):
    """A model is missing, altered, or in a format that is not loaded here."""


class StoreError(RungsError):
    """An index is missing, damaged, or was built for something else."""


class RunError(RungsError):
    """A measurement cannot be made, or two of them cannot be set side by side."""
