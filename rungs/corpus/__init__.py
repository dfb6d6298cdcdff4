"""What is searched: pinned or own folders, the files in them, and the chunks they are cut into."""

from rungs.corpus.category import CATEGORIES, category, language
from rungs.corpus.chunking import CHUNKER_VERSION, Chunk, TokenCounter, chunk_files
from rungs.corpus.manifest import Corpus, Pin, fetch, find_home, load_corpus, pins, register
from rungs.corpus.symbols import Span, Symbol, label_spans, nearest, symbols
from rungs.corpus.walk import SourceFile, Walk, walk

__all__ = [
    "CATEGORIES",
    "CHUNKER_VERSION",
    "Chunk",
    "Corpus",
    "Pin",
    "SourceFile",
    "Span",
    "Symbol",
    "TokenCounter",
    "Walk",
    "category",
    "chunk_files",
    "fetch",
    "find_home",
    "label_spans",
    "language",
    "load_corpus",
    "nearest",
    "pins",
    "register",
    "symbols",
    "walk",
]
