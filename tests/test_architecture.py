"""The structure of the package: import cycles, sizes, generation words, names with two meanings or none, prose, and
public names.

Each rule has a list of its exceptions with their reasons. An exception that is no longer needed fails the test, too, so
that the lists stay current.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "omnizarr"

MOST_MODULES = 20  # in a folder, without `__init__`
MOST_LINES = 450  # in a file


@cache
def modules() -> dict[str, Path]:
    """The files of all modules by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


# -- imports


def imports(name: str) -> set[str]:
    """The modules of the package that a module imports: at its top, for type checkers only, and inside functions."""
    known = modules()
    imported = set()
    for node in ast.walk(tree(known[name])):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                imported.add(module if module in known else node.module)
    return (imported & known.keys()) - {name}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of nodes that reach each other (strongly connected components of at least two nodes)."""
    graph = without_ends(graph)
    reached = {name: reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def without_ends(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The graph without nodes that lead to none, again and again: they are in no cycle."""
    left = {name: set(targets) for name, targets in graph.items()}
    while ends := {name for name, targets in left.items() if not targets}:
        left = {name: targets - ends for name, targets in left.items() if name not in ends}
    return left


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """The nodes at the end of a path of at least one step from `start`."""
    found: set[str] = set()
    left = list(graph[start])
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(graph[name])
    return found


def test_cycles_are_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a"}}) == []
    assert cycles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}, "e": {"a"}}) == [["a", "b"], ["c", "d"]]


def test_imports_for_type_checkers_and_in_functions_are_found() -> None:
    assert "omnizarr.transformers" in imports("omnizarr.model.array")  # under `if TYPE_CHECKING`
    assert "omnizarr.dtypes.record" in imports("omnizarr.dtypes")
    assert "omnizarr.errors" in imports("omnizarr._json")


def test_no_module_imports_itself_through_others() -> None:
    assert cycles({name: imports(name) for name in modules()}) == []


# -- sizes

LONG_FILES: dict[str, str] = {
    "tests/corpora/make_draft_2022.py": "one corpus, made by one script",
    "tests/interop/cases.py": "one table of cases",
    "tests/oracles/draft_2022.py": "an independent implementation of one specification",
    "tests/oracles/test_draft_2022.py": "all examples of one specification",
}
"""Python files of more than `MOST_LINES` lines, and why."""


def test_folders_have_few_modules() -> None:
    root = SOURCE.parent
    folders = [folder for name in ("src", "tests") for folder in (root / name, *(root / name).glob("**/"))]
    counts = {
        folder.relative_to(root).as_posix(): sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder in folders
    }
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_files_are_short() -> None:
    root = SOURCE.parent
    lengths = {
        path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in (PACKAGE, root / "tests", root / "benchmarks")
        for path in folder.rglob("*.py")
    }
    long = {name: length for name, length in lengths.items() if length > MOST_LINES}
    assert {name: length for name, length in long.items() if name not in LONG_FILES} == {}
    assert LONG_FILES.keys() - long.keys() == set(), "remove them from the list"


# -- generations

GENERATION = re.compile(
    r"(?:^|_)(zarr_(?:format|version)|v[123]|drafts?|n5)(?:_|$)|^(?:V[123]|Draft|N5)(?:[A-Z]|$)", re.IGNORECASE
)
"""Identifiers that name a generation: `zarr_format`, `v2_ids`, `DraftKeys`, …"""
GENERATION_TEXT = re.compile(r"zarr_(?:format|version)|v[123]|draft|3-draft-\d{4}|n5")
"""String literals that name a generation."""

GENERATION_WORDS: dict[str, set[str]] = {
    # The format of a node is shown to users.
    "tools/describe.py": {"zarr_format"},
    # The generation of a copy, or of a new node, is an argument.
    "cli/commands/change/consolidate.py": {"zarr_format"},
    "cli/commands/change/create.py": {"zarr_format"},
    "cli/commands/change/import_.py": {"zarr_format"},
    "tools/files/importing.py": {"zarr_format"},
    "tools/plans/copy.py": {"zarr_format"},
    "tools/plans/rechunk.py": {"zarr_format"},
    "cli/commands/change/copy.py": {"zarr_format"},
    # The generation to repair is an argument.
    "tools/repairs/repair.py": {"_zarr_format", "zarr_format"},
    "tools/repairs/fix.py": {"zarr_format"},
    "cli/commands/change/repair.py": {"zarr_format"},
    # Each version of OME-Zarr is defined for one generation.
    "tools/pyramids/images.py": {"zarr_format"},
    "tools/pyramids/plan.py": {"v2", "zarr_format"},
    "cli/plans.py": {"3-draft-2020", "3-draft-2022", "n5"},
    # A migration is from one generation to another. Documents and headers of some exclude those of others in one store.
    "tools/migration/beside.py": {"zarr_format"},
    "tools/migration/forms.py": {"N5Block", "n5_block", "zarr_format"},
    "tools/migration/in_place.py": {"3-draft-2020", "3-draft-2022", "_DRAFTS", "n5", "zarr_format"},
    "tools/migration/migrate.py": {"zarr_format"},
    "tools/migration/old_keys.py": {"zarr_format"},
    "tools/migration/switch.py": {"3-draft-2020", "3-draft-2022", "n5", "zarr_format"},
    "tools/migration/work.py": {"n5"},
    # A hierarchy has one generation: nodes above of another one do not enclose a node.
    "tools/locations.py": {"zarr_format"},
    # The generation to check is an argument; the table of readers and OME-Zarr depend on it.
    "tools/validation/validate.py": {"zarr_format"},
    "tools/validation/nodes.py": {"zarr_format"},
    "tools/validation/readers.py": {"N5Block", "n5", "n5_block", "zarr_format"},
    "tools/validation/conventions/hierarchy_view.py": {"zarr_format"},
    "tools/validation/conventions/ome.py": {"zarr_format"},
    "cli/commands/validate.py": {"zarr_format"},
    "display/html.py": {"zarr_format"},
    # Addresses name the generation in which a hierarchy is shown.
    "serve/plain/responses.py": {"v2", "v3"},
    "serve/plain/conversion.py": {"zarr_format"},
    "serve/plain/documents.py": {"zarr_format"},
    "display/info.py": {"zarr_format"},
    # The model says which generation a document has.
    "model/array.py": {"3-draft-2020", "3-draft-2022", "n5", "zarr_format"},
    "model/group.py": {"zarr_format"},
    # Chunk key encodings are named after the generation that introduced them; v3 has one called `v2`.
    "chunk_keys/__init__.py": {"DraftKeys", "V2Keys", "draft", "v2"},
    "chunk_keys/draft.py": {"DraftKeys", "draft"},
    "chunk_keys/v2.py": {"V2Keys", "v2"},
    # Codecs of v2 have ids of their own. Arrays of the codec `n5_default` use the chunk keys `v2`.
    "chunk_keys/n5.py": {"N5Keys", "n5"},
    # A codec of v3 stores blocks of N5.
    "codecs/__init__.py": {"N5Default", "n5_default"},
    "codecs/array_to_bytes/n5_block.py": {"N5Block", "N5_TYPES", "n5"},
    "codecs/array_to_bytes/n5_default.py": {"N5Default", "n5_block", "v2"},
    "codecs/parsing.py": {"v2_ids"},
    "nodes/create/codec_options.py": {"v2_ids"},
    # A data type says that older generations cannot store it.
    "dtypes/contract.py": {"only_v3"},
    "dtypes/numbers/ml_types.py": {"only_v3"},
    "dtypes/struct_.py": {"only_v3"},
    # Extension points of the drafts.
    "extending/register.py": {"draft"},
    "transformers/contract.py": {"_DRAFT_URI"},
    # Only the drafts shard by a storage transformer, in a folder of its own.
    "transformers/__init__.py": {"draft_sharding"},
    "transformers/draft_sharding/__init__.py": {"draft_sharding"},
    "transformers/draft_sharding/store.py": {"draft_sharding"},
    "transformers/draft_sharding/transformer.py": {"draft_sharding"},
    # The suite tests a transformer in every generation that has transformers, and with the keys `v2` of v3.
    "testing/transformer_suite.py": {"3-draft-2020", "3-draft-2022", "zarr_format"},
    "testing/transformer_suite_stores.py": {"V2Keys"},
    # An array of the first generation, written by hand as old programs did.
    "cli/commands/demo.py": {"zarr_format"},
    # A document of a node is recognized, to say that it has no references.
    "store/references/json_.py": {"zarr_format"},
}
"""Modules that name generations. A new entry needs a reason why `formats` cannot answer."""


def names(node: ast.AST) -> Iterator[str]:
    """The identifiers of one node of a syntax tree."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases):
            yield from (module or "").split(".")
            yield from (alias.asname or alias.name for alias in aliases)


def generation_words(path: Path) -> set[str]:
    """The identifiers and string literals of a module that name a generation."""
    words = set()
    for node in ast.walk(tree(path)):
        words.update(name for name in names(node) if GENERATION.search(name) and not name.startswith("test_"))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and GENERATION_TEXT.fullmatch(node.value):
            words.add(node.value)
    return words


def test_generation_words_are_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'from a.v2 import b\ndef f(zarr_format): return "3-draft-2020", DraftKeys, g.only_v3, view, "v2x"\n'
    )
    assert generation_words(module) == {"v2", "zarr_format", "3-draft-2020", "DraftKeys", "only_v3"}


PASSING_ON = ("api/", "nodes/", "integrations/")
MIRRORS = ("compat/",)
"""Folders with the names of another library, whose words and classes are its own."""


def test_only_formats_know_generations() -> None:
    """Users name a generation by the argument `zarr_format`, which the folders in `PASSING_ON` pass on. Other code asks
    the dialect."""
    found = {
        name: words
        for path in modules().values()
        if not (name := path.relative_to(PACKAGE).as_posix()).startswith(("formats/", *MIRRORS))
        and (words := generation_words(path) - ({"zarr_format"} if name.startswith(PASSING_ON) else set()))
    }
    assert {name: new for name, words in found.items() if (new := words - GENERATION_WORDS.get(name, set()))} == {}
    stale = {name: words - found.get(name, set()) for name, words in GENERATION_WORDS.items()}
    assert {name: words for name, words in stale.items() if words} == {}, "remove them from the list"


# -- names with two meanings

SHARED_NAMES: dict[str, str] = {
    "BitRound": "a codec of v3 and a filter of v2 with the same public name",
    "Buffer": "the same type in `codecs` and in `store`, which do not import each other",
    "PackBits": "a codec of v3 and a filter of v2 with the same public name",
}
"""Names of classes and type aliases that several modules define, and their meanings."""


def definitions(path: Path) -> Iterator[str]:
    """The public classes and type aliases of a module."""
    for node in tree(path).body:
        match node:
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                if not name.startswith("_"):
                    yield name


def test_a_name_has_one_meaning() -> None:
    own = [path for path in modules().values() if not path.relative_to(PACKAGE).as_posix().startswith(MIRRORS)]
    counts = Counter(name for path in own for name in definitions(path))
    shared = {name for name, count in counts.items() if count > 1}
    assert shared - SHARED_NAMES.keys() == set()
    assert SHARED_NAMES.keys() - shared == set(), "remove them from the list"


# -- names and prose in plain English

EMPTY_NAMES = {
    *("found", "taken", "wanted", "needed", "asked", "settled", "gone", "held", "how", "aside", "alone"),
    *("given", "kept", "made", "meant", "intended", "noted", "mended", "drawn", "granted"),
}
"""Names that say nothing about the content: most are bare participles."""

USED_EMPTY_NAMES: dict[str, str] = {
    "_json.py": "`found` is an argument of the public method `Problems.expected`",
    "tools/repairs/results.py": "`kept` is a field of the public `RestoreResult`",
}
"""Modules with such a name, and why."""

QUAINT = re.compile(
    r"\b(?:(?:some|any|no|every)body|(?:some|any|every)one|whom?ever|those who|lest|in vain|upkeep|the doors?)\b",
    re.IGNORECASE,
)
"""Words for actors without a name, and quaint ones. Say which process, thread, caller or store it is."""

NOT_PROSE: dict[str, str] = {
    "tests/codecs/bytes_to_bytes/test_lz4_blocks.py": "a text with a published checksum",
    "tests/formats/test_old_hostile.py": "a hostile value",
    "tests/test_architecture.py": "the list of these words",
}
"""Files with such a word, and why."""


def variables(path: Path) -> Iterator[str]:
    """The names of functions, their arguments and the variables that a module assigns to."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name


def test_empty_names_are_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f(taken, *, key): _held = 1; a.found = 2; return found\n")
    assert sorted(variables(module)) == ["_held", "f", "key", "taken"]


def test_names_tell_the_content() -> None:
    used = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules().values()
        if not EMPTY_NAMES.isdisjoint(name.strip("_") for name in variables(path))
    }
    assert used - USED_EMPTY_NAMES.keys() == set()
    assert USED_EMPTY_NAMES.keys() - used == set(), "remove them from the list"


def test_prose_names_the_actor() -> None:
    root = SOURCE.parent
    files = [*root.glob("*.md"), *PACKAGE.rglob("*.c")]
    files += [path for name in ("src", "tests", "benchmarks") for path in (root / name).rglob("*.py")]
    files += [path for name in ("docs", "tests", "benchmarks") for path in (root / name).rglob("*.md")]
    files += [path for folder in ("src", "tests") for path in (root / "viewer" / folder).rglob("*.*s*")]
    assert len(files) > 1000
    quaint = {path.relative_to(root).as_posix(): QUAINT.findall(path.read_text(encoding="utf-8")) for path in files}
    assert {name: words for name, words in quaint.items() if words and name not in NOT_PROSE} == {}
    assert {name for name in NOT_PROSE if not quaint[name]} == set(), "remove them from the list"


# -- public names

PUBLIC = {
    "compat": "install installed uninstall",
    "codecs": """
        ArrayCodec BitRound Blosc BoundSharding Buffer ByteSpec Bytes BytesCodec CastValue Chain ChunkSpec Codec
        Conditional Crc32c Gzip N5Default PackBits Reshape ScaleOffset Serializer Sharding Skipped StoredBytes Transpose
        VlenBytes VlenUtf8 Zfp Zstd codec_of codecs parse_codecs plain_serializer
    """,
    "extending": """
        ArrayCodec ArrayPlace Axis BoundArrayCodec BoundBytesCodec BoundSerializer Buffer ByteRange ByteSpec BytesCodec
        ChunkKeys ChunkSpec Codec DataType Encoding Grid Json Problems Scalar Serializer StorageTransformer Store
        check_key check_members check_prefix check_size compressed cut members register_chunk_grid
        register_chunk_key_encoding register_chunk_memory_layout register_codec register_data_type register_extension
        register_metadata_encoding register_storage_transformer register_store
    """,
    "testing": """
        Call CodecSuite DataTypeSuite Fault FaultyStore RecordingStore RequestStore SlowStore StoreSuite
        TransformerSuite
    """,
}
"""The public names of packages beside those of `omnizarr` itself, which tests/test_package.py pins."""


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_of_a_package_are_these(name: str) -> None:
    package = import_module(f"omnizarr.{name}")
    assert sorted(package.__all__) == sorted(PUBLIC[name].split())
    for public in package.__all__:
        assert getattr(package, public) is not None
