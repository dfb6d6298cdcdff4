"""Any LlamaIndex node is placed, or is an error that names it."""

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rungs.corpus import load_corpus
from rungs.errors import RunError
from rungs.measure import Location, Locator, locate

from .toys import TASKS


def node(text: str = "", start: int | None = None, end: int | None = None, **metadata) -> TextNode:
    return TextNode(id_="node-7", text=text, metadata=metadata, start_char_idx=start, end_char_idx=end)


def span(text: str) -> tuple[int, int]:
    at = TASKS.index(text)
    return at, at + len(text)


def test_our_own_metadata_is_taken_as_it_is(corpus):
    found = locate(node("anything", path="pkg/tasks.py", start_line=9, end_line=12), corpus)
    assert found == Location("pkg/tasks.py", 9, 12)


@pytest.mark.parametrize("key", ["path", "file_path", "filename", "file_name"])
def test_offsets_are_mapped_to_lines(key, corpus):
    text = "body = encode(message)\n    return body"
    assert locate(node(text, *span(text), **{key: "pkg/tasks.py"}), corpus) == Location("pkg/tasks.py", 19, 20)


def test_lines_left_empty_are_not_stated(corpus):
    text = "body = encode(message)"
    assert locate(node(text, path="pkg/tasks.py", start_line=None, end_line=None), corpus).start_line == 19


def test_blank_edges_of_a_piece_are_not_lines_of_it(corpus):
    text = "\n\n\ndef send(message):\n"
    assert locate(node(text, *span(text), path="pkg/tasks.py"), corpus) == Location("pkg/tasks.py", 18, 18)


def test_a_text_is_found_in_its_file_without_offsets(corpus):
    assert locate(node("    def run(self):\n        return None", path="pkg/tasks.py"), corpus) == Location(
        "pkg/tasks.py", 14, 15
    )


def test_white_space_may_differ(corpus):
    assert locate(node("def send(message): body =\r\n encode(message)", path="pkg/tasks.py"), corpus) == Location(
        "pkg/tasks.py", 18, 19
    )


def test_offsets_that_point_elsewhere_lose_to_the_text(corpus):
    wrong = node("def send(message):", 0, 18, path="pkg/tasks.py")
    assert locate(wrong, corpus) == Location("pkg/tasks.py", 18, 18)


def test_offsets_tell_two_equal_pieces_apart(corpus):
    text = "return"
    last = TASKS.rindex(text)
    assert locate(node(text, path="pkg/tasks.py"), corpus).start_line == 12
    assert locate(node(text, last, last + 6, path="pkg/tasks.py"), corpus).start_line == 84


def test_a_rewritten_text_keeps_its_offsets(corpus):
    summary = node("It sends a message.", *span("def send(message):\n    body = encode(message)"), path="pkg/tasks.py")
    assert locate(summary, corpus) == Location("pkg/tasks.py", 18, 19)


def test_without_lines_or_text_only_the_file_is_known(corpus):
    assert locate(node("a summary of it all", path="pkg/tasks.py"), corpus) == Location("pkg/tasks.py")
    assert locate(node("", path="pkg/tasks.py"), corpus) == Location("pkg/tasks.py")


def test_an_absolute_path_is_matched_by_its_ending_where_the_text_agrees(corpus):
    assert locate(node("body = encode(message)", file_path="/home/u/src/pkg/tasks.py"), corpus) == Location(
        "pkg/tasks.py", 19, 19
    )


def test_a_file_elsewhere_that_ends_alike_is_not_believed(corpus):
    with pytest.raises(RunError, match=r"'node-7' names '/home/u/docs/guide.md'"):
        locate(node("# Another guide", file_path="/home/u/docs/guide.md"), corpus)
    with pytest.raises(RunError, match="is not a file of"):
        locate(node("# Another", path="/home/u/docs/guide.md", start_line=1, end_line=1), corpus)


def test_a_bare_file_name_is_settled_by_the_text(corpus):
    assert locate(node("return 'elsewhere'", file_name="tasks.py"), corpus).path == "pkg/sub/tasks.py"
    assert locate(node("body = encode(message)", file_name="tasks.py"), corpus).path == "pkg/tasks.py"


def test_a_bare_file_name_that_nothing_settles_is_an_error(corpus):
    with pytest.raises(RunError, match="could be any of 2 files"):
        locate(node("in neither", file_name="tasks.py"), corpus)
    with pytest.raises(RunError, match="could be any of 2 files"):
        locate(node("body = encode(message)", path="tasks.py", start_line=1, end_line=1), corpus)


def test_a_bare_file_name_whose_text_is_in_several_files_is_an_error(corpus):
    with pytest.raises(RunError, match="could be any of 2 files"):
        locate(node("return", file_name="tasks.py"), corpus)


def test_a_whole_path_is_not_overruled_by_a_text_found_elsewhere(corpus):
    other = node("return 'elsewhere'", file_path="pkg/tasks.py", file_name="tasks.py")
    assert locate(other, corpus) == Location("pkg/tasks.py")


def test_the_documents_metadata_is_used_when_the_nodes_own_says_nothing(corpus):
    source = RelatedNodeInfo(node_id="d", metadata={"file_path": "pkg/tasks.py"})
    piece = TextNode(text="body = encode(message)", relationships={NodeRelationship.SOURCE: source})
    assert locate(piece, corpus) == Location("pkg/tasks.py", 19, 19)


def test_a_document_named_after_its_file_is_enough(corpus):
    source = RelatedNodeInfo(node_id="/src/pkg/tasks.py_part_0")
    piece = TextNode(text="body = encode(message)", relationships={NodeRelationship.SOURCE: source})
    assert locate(piece, corpus) == Location("pkg/tasks.py", 19, 19)


@pytest.mark.parametrize(
    "splitter",
    [SentenceSplitter(chunk_size=60, chunk_overlap=10), TokenTextSplitter(chunk_size=40, chunk_overlap=5)],
)
def test_every_node_of_a_stock_splitter_is_placed_where_its_text_is(splitter, corpus):
    document = Document(text=TASKS, metadata={"file_path": "pkg/tasks.py"})
    locator, lines, covered = Locator(corpus), TASKS.split("\n"), set()
    nodes = splitter.get_nodes_from_documents([document])
    assert len(nodes) > 5
    for piece in nodes:
        place = locator.locate(piece)
        source = "\n".join(lines[place.start_line - 1 : place.end_line])
        assert "".join(piece.text.split()) in "".join(source.split())
        covered.update(range(place.start_line, place.end_line + 1))
    assert {number for number, text in enumerate(lines, start=1) if text.strip()} <= covered


@pytest.mark.parametrize(("start", "end"), [(0, 3), (5, 4), (1, 10_000), (None, 3), ("1", 3), (1.0, 2), (True, 3)])
def test_lines_the_file_does_not_have_are_an_error(start, end, corpus):
    with pytest.raises(RunError, match=r"hit 'node-7' claims lines .* of pkg/tasks.py, which has 85; index"):
        locate(node("x", path="pkg/tasks.py", start_line=start, end_line=end), corpus)


def test_a_node_without_a_file_is_an_error_and_not_a_miss(corpus):
    with pytest.raises(RunError, match=r"hit 'node-7' says nothing about its file"):
        locate(node("body = encode(message)"), corpus)


def test_a_file_of_another_corpus_is_an_error(corpus):
    with pytest.raises(RunError, match=r"hit 'node-7' names 'other/x.py', which is not a file of corpus 'small'"):
        locate(node("x", path="other/x.py", start_line=1, end_line=1), corpus)


@pytest.mark.parametrize("spelled", ["pkg/py.typed", "{root}/pkg/py.typed"])
def test_a_file_of_the_folder_that_is_not_searched_is_a_place_without_labels(spelled, tmp_path):
    for path in ("pkg/a.py", "pkg/py.typed", "../secret.txt"):
        (tmp_path / "src" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / path).write_text("x = 1\n" if path.endswith("a.py") else "")
    corpus = load_corpus(tmp_path / "src", tmp_path / "home")
    assert corpus.get("pkg/py.typed") is None
    assert locate(node("", file_path=spelled.format(root=corpus.root)), corpus) == Location("pkg/py.typed")
    for outside in ("../secret.txt", f"{tmp_path}/secret.txt", "pkg/gone.py", "pkg/\0"):
        with pytest.raises(RunError, match="is not a file of"):
            locate(node("", file_path=outside), corpus)
