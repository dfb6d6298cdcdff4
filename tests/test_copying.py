"""The import rule: a rung imports LlamaIndex, numeric libraries, its engine and other rungs, and works alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from rungs.copying import RUNGS, copy_rung, import_hint, imported_modules
from rungs.errors import SettingsError

PACKAGE = Path(__file__).parents[1] / "rungs"
ALLOWED = {"llama_index", "numpy", "scipy", "networkx"} | set(sys.stdlib_module_names)
ENGINES = {"bm25s", "FlagEmbedding", "pymilvus"}
FORBIDDEN = {
    "index",
    "settings",
    "corpus",
    "measure",
    "cli",
    "funnel",
    "models",
    "workbench",
    "errors",
    "ladder",
    "plots",
}

# What a stranger does with the copy, in a process where `rungs` cannot be imported.
USES = {
    "tokenizer": "from taken.tokenizer import tokenize; assert tokenize('retryPolicy') == ['retrypolicy', 'retry', 'policy']",
    "hits": """
from llama_index.core.schema import TextNode
from taken.hits import make_hit
assert make_hit(TextNode(text='a'), 'x', 2).node.metadata['scores'] == {'x': 2.0}
""",
    "grep": """
from llama_index.core.schema import TextNode
from taken.grep import TermCountRetriever
nodes = [TextNode(text='retry the task'), TextNode(text='pool')]
assert [h.node.text for h in TermCountRetriever(nodes).retrieve('retry')] == ['retry the task']
""",
    "dense": """
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import TextNode
from llama_index.vector_stores.milvus import MilvusVectorStore
from taken.dense import DenseRetriever
store = MilvusVectorStore(uri='m.db', dim=4, similarity_metric='COSINE', use_async_client=False)
store.add([TextNode(text='hello', embedding=[1.0, 0, 0, 0])], force_flush=True)
hits = DenseRetriever(store, MockEmbedding(embed_dim=4), top_k=3).retrieve('hi')
assert [h.node.text for h in hits] == ['hello'] and set(hits[0].metadata['scores']) == {'dense'}
""",
    "lexical": """
from llama_index.core.schema import TextNode
from llama_index.vector_stores.milvus import MilvusVectorStore
from llama_index.vector_stores.milvus.utils import BM25BuiltInFunction
from pymilvus import DataType
from taken.lexical import MilvusBM25Retriever
from taken.tokenizer import tokenize
store = MilvusVectorStore(
    uri='m.db', dim=4, similarity_metric='COSINE', use_async_client=False, enable_sparse=True,
    sparse_embedding_function=BM25BuiltInFunction('tokens', analyzer_params={'tokenizer': 'whitespace'}),
    scalar_field_names=['tokens'], scalar_field_types=[DataType.VARCHAR])
texts = ['def retryPolicy(): pass', 'def close_pool(): pass']
store.add([TextNode(text=t, metadata={'tokens': ' '.join(tokenize(t))}, embedding=[1.0, 0, 0, 0]) for t in texts],
          force_flush=True)
hits = MilvusBM25Retriever(store).retrieve('where is the retry policy')
assert [h.node.text for h in hits] == texts[:1], hits
""",
    "lexical_bm25s": """
from llama_index.core.schema import TextNode
from taken.lexical import BM25sRetriever as same
from taken.lexical_bm25s import BM25sRetriever
assert same is BM25sRetriever
nodes = [TextNode(text='def retryPolicy(): pass'), TextNode(text='def close_pool(): pass')]
BM25sRetriever(nodes, top_k=5).persist('kept')
hits = BM25sRetriever.from_persist_dir('kept').retrieve('where is the retry policy')
assert [h.node.text for h in hits] == [nodes[0].text], hits
""",
    "fusion": """
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from taken.fusion import FusionRetriever
class Theirs(BaseRetriever):
    def __init__(self, order):
        super().__init__()
        self.order = order
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(id_=name, text=name), score=1.0) for name in self.order]
fused = FusionRetriever({'words': Theirs('ABC'), 'meaning': Theirs('CAB')}, top_k=2).retrieve('anything')
assert [(h.node.text, round(h.score, 6)) for h in fused] == [('A', 0.032522), ('C', 0.032266)], fused
""",
    "names": """
from taken.names import NameTable
names = NameTable([('app.task', 'Task.retry', 'code', ['task#1'])], ['delay'])
found = [names.find(text) for text in ('Task.retry()', 'task_retry', 'Taks.retry', 'Pool')]
assert [one.how for one in found] == ['exact', 'folded', 'alike', 'absent'], found
assert [one.ids for one in found] == [('task#1',)] * 3 + [()]
assert names.knows('delay') and not names.defines('delay')
""",
    "routing": """
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from taken.names import NameTable
from taken.routing import DefinitionRetriever, RoutedRetriever, Router
class Theirs(BaseRetriever):
    def __init__(self, name):
        super().__init__()
        self.name = name
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(id_=self.name, text=self.name), score=1.0)]
nodes = {'pool#1': TextNode(id_='pool#1', text='class Pool: ...')}
names = NameTable([('app.pool', 'Pool', 'code', ['pool#1'])])
definition = DefinitionRetriever(names, lambda ids: [nodes[i] for i in ids])
channels = {'bm25': Theirs('words'), 'dense': Theirs('meaning'), 'definition': definition}
ask = RoutedRetriever(channels, Router(names), names=names).retrieve
assert [h.node.text for h in ask('Pool')] == ['class Pool: ...', 'words']
assert [h.node.text for h in ask('how are connections kept')] == ['meaning']
""",
}


def top_names(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide what a rung depends on"
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_imports_only_what_it_may(rung: str):
    source = (PACKAGE / f"{rung}.py").read_text()
    assert top_names(source) - {"rungs"} <= ALLOWED | ENGINES
    assert imported_modules(source).isdisjoint(FORBIDDEN)
    assert imported_modules(source) <= set(RUNGS)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_imports_its_engine_only_where_it_is_used(rung: str):
    tree = ast.parse((PACKAGE / f"{rung}.py").read_text())
    top = {
        n for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for n in top_names(ast.unparse(node))
    }
    assert top.isdisjoint(ENGINES)


def test_every_rung_has_a_use():
    assert set(USES) == set(RUNGS)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_copied_rung_works_alone(rung: str, tmp_path: Path):
    copy_rung(rung, tmp_path / "taken")
    block = "import sys\nsys.modules['rungs'] = None\n"  # any `import rungs` now raises ImportError
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", block + USES[rung]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_block_really_blocks():
    done = subprocess.run(
        [sys.executable, "-c", "import sys\nsys.modules['rungs'] = None\nimport rungs.hits"], capture_output=True
    )
    assert done.returncode != 0


def test_a_file_in_the_way_is_kept_unless_told_otherwise(tmp_path: Path):
    (tmp_path / "hits.py").write_text("mine")
    with pytest.raises(SettingsError, match="--overwrite"):
        copy_rung("dense", tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hits.py"]
    assert (tmp_path / "hits.py").read_text() == "mine"
    copy_rung("dense", tmp_path, overwrite=True)
    assert (tmp_path / "dense.py").exists()


def test_two_rungs_that_share_a_module_go_into_one_folder(tmp_path: Path):
    copy_rung("routing", tmp_path)
    before = (tmp_path / "hits.py").stat().st_mtime_ns
    written = {path.name for path in copy_rung("lexical", tmp_path)}
    assert "lexical.py" in written and "hits.py" not in written
    assert (tmp_path / "hits.py").stat().st_mtime_ns == before
    assert copy_rung("lexical", tmp_path) == []
    (tmp_path / "hits.py").write_text("mine")
    with pytest.raises(SettingsError, match=r"hits\.py exists; .*--overwrite"):
        copy_rung("lexical", tmp_path)


@pytest.mark.parametrize(
    ("dest", "path", "line"),
    [
        ("taken", ".", "import it here as: from taken.hits import"),
        ("lib/retrieval", ".", "import it here as: from lib.retrieval.hits import"),
        ("my-app/lib/retrieval", "my-app", "my-app on PYTHONPATH, import it as: from lib.retrieval.hits import"),
        ("../beside/retrieval", "../beside", "beside on PYTHONPATH, import it as: from retrieval.hits import"),
        (".", "..", "on PYTHONPATH, import it as: from work.hits import"),
    ],
)
def test_the_import_line_works_where_it_says(dest: str, path: str, line: str, tmp_path: Path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    copy_rung("hits", Path(dest))
    hint = import_hint("hits", Path(dest))
    assert line in hint
    code = f"import sys\nsys.modules['rungs'] = None\nsys.path.insert(0, {path!r})\n"
    code += "from " + hint.partition(": from ")[2].replace("…", "make_hit")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("dest", ["my-lib", "lib/class", "2fast"])
def test_a_folder_that_cannot_be_imported_is_said_to_be_one(dest: str, tmp_path: Path):
    assert "no name that Python can import" in import_hint("hits", tmp_path / dest)


@pytest.mark.parametrize("name", ["nothing", "../errors", "funnel"])
def test_what_is_no_rung_is_refused(name: str, tmp_path: Path):
    with pytest.raises(SettingsError, match="choose one of"):
        copy_rung(name, tmp_path / "x")
    assert not (tmp_path / "x").exists()
