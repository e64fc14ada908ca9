"""Packages that provide extensions of all kinds by entry points, each tested in a new interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.pages import blocks
from tests.registries import install

URI = "https://example.org/zarr"

MODULES = {
    "ex_codec": """
from omnizarr.codecs import Crc32c

class Summed(Crc32c):
    name = "ex.summed"
""",
    "ex_type": """
from dataclasses import dataclass
import numpy as np
from omnizarr.extending import DataType

@dataclass(frozen=True, slots=True)
class Switch(DataType):
    name: str = "ex.switch"
    dtype: np.dtype = np.dtype("u1")

    def parse_fill(self, value, path, problems):
        if value in ("on", "off"):
            return np.array(value == "on", "u1")
        problems.expected(path, "`on` or `off`", value)

    def dump_fill(self, fill):
        return "on" if fill else "off"

def read_scaled(name, configuration, path, problems):
    return Switch(name) if configuration == {"type": "switch"} else problems.add(path, "expected a switch")
""",
    "ex_grid": """
from omnizarr.grids import Regular

class Tiles(Regular):
    name = "ex.tiles"
""",
    "ex_keys": """
from dataclasses import dataclass
from omnizarr.chunk_keys import Default

@dataclass(frozen=True, slots=True)
class Bracketed(Default):
    name = "ex.bracketed"

    def join(self, parts):
        return "chunk(" + ",".join(parts) + ")"

    def coordinates(self, key, ndim):
        return tuple(int(part) for part in key[6:-1].split(","))
""",
    "ex_transformer": """
from dataclasses import dataclass
from omnizarr.extending import StorageTransformer
from omnizarr.store import PrefixStore, WrapperStore

class Elsewhere(WrapperStore):
    def __init__(self, inner, place):
        super().__init__(inner)
        self._place = place

    def _key(self, key):
        return key.replace("chunk(", "elsewhere(").replace("c/", "elsewhere/")

    def get(self, key, range=None):
        return self.inner.get(self._key(key), range)

    def get_into(self, key, start, target):
        return self.inner.get_into(self._key(key), start, target)

    def set(self, key, value):
        self.inner.set(self._key(key), value)

    def set_each(self, items):
        self.inner.set_each((self._key(key), value) for key, value in items)

@dataclass(frozen=True)
class Moved(StorageTransformer):
    name = "ex.moved"

    @classmethod
    def parse(cls, configuration, path, problems):
        return cls()

    def configuration(self):
        return {}

    def wrap(self, store, place):
        return Elsewhere(store, place)
""",
    "ex_store": """
from omnizarr.store import LocalStore

def open_attic(url, *, read_only=False):
    return LocalStore(url.removeprefix("attic://"), read_only=read_only)
""",
    "ex_drafts": f"""
from dataclasses import dataclass
import json
import numpy as np
from omnizarr.extending import ArrayCodec, BoundArrayCodec, Encoding
from omnizarr.codecs import Transpose

def check_units(configuration, path, problems):
    if configuration != {{"units": "K"}}:
        problems.expected(path, "units", configuration)

class Backwards(BoundArrayCodec):
    def __init__(self, spec):
        self.encoded = spec

    def encode(self, array):
        return array[::-1]

    decode = encode

@dataclass(frozen=True)
class Reverse(ArrayCodec):
    name = "{URI}/reverse"

    @classmethod
    def parse(cls, configuration, path, problems):
        return cls()

    def configuration(self):
        return {{"type": "reverse"}}

    def bind(self, spec, path, problems):
        return Backwards(spec)

class Spaced(Encoding):
    uri = "{URI}/spaced"
    type = "spaced"
    suffix = ".spaced"

    def parse(self, data, what, *, limit):
        return json.loads(bytes(data))

    def dump(self, document):
        return json.dumps(document, indent=8).encode()
""",
}

POINTS = {
    "omnizarr.codecs": {"ex.summed": "ex_codec:Summed", "ex.broken": "ex_broken:Nothing"},
    "omnizarr.data_types": {"ex.switch": "ex_type:Switch", f"{URI}/switch": "ex_type:read_scaled"},
    "omnizarr.chunk_grids": {"ex.tiles": "ex_grid:Tiles"},
    "omnizarr.chunk_key_encodings": {"ex.bracketed": "ex_keys:Bracketed"},
    "omnizarr.storage_transformers": {"ex.moved": "ex_transformer:Moved"},
    "omnizarr.stores": {"attic": "ex_store:open_attic"},
    "omnizarr.extensions": {f"{URI}/units": "ex_drafts:check_units"},
    "omnizarr.chunk_memory_layouts": {f"{URI}/reverse": "ex_drafts:Reverse"},
    "omnizarr.metadata_encodings": {f"{URI}/spaced": "ex_drafts:Spaced"},
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    install(folder, "ex-package", POINTS, {**MODULES, "ex_broken": "raise RuntimeError('no luck')"})
    return folder


def run(program: str, *folders: Path, cwd: Path) -> str:
    """The output of a program in a new interpreter, for which the packages in `folders` are installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, cwd=cwd, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


WRITE = """
import omnizarr
from ex_grid import Tiles
from ex_transformer import Moved

omnizarr.create_array(
    "attic://all.zarr", name="all", shape=(4, 6), dtype="ex.switch", fill_value="on", chunks=Tiles((2, 3)),
    chunk_key_encoding="ex.bracketed", compressors=["ex.summed"], storage_transformers=[Moved()],
)[:2] = [[0, 1, 0, 1, 0, 1]]
group = omnizarr.open_group("attic://all.zarr")
group.create_array("plain", data=range(3))
group.create_array("broken", data=range(3), compressors=None)
"""

READ = """
import sys
import omnizarr

def loaded():
    return sorted(name for name in sys.modules if name.startswith("ex_"))

group = omnizarr.open_group("attic://all.zarr", mode="r", storage_options={"read_only": True})
assert loaded() == ["ex_store"], loaded()
assert group["plain"][...].tolist() == [0, 1, 2]
assert loaded() == ["ex_store"], loaded()
found = dict(group.members())
assert isinstance(found["broken"], omnizarr.UnreadableNode), found
print(found["broken"].reason)
print(found["all"][1:3].tolist(), found["all"].metadata.data_type.name, found["all"].fill_value)
print(loaded())
"""


@pytest.mark.smoke
def test_a_package_provides_all_extensions_of_a_v3_array(package: Path, tmp_path: Path) -> None:
    run(WRITE, package, cwd=tmp_path)
    stored = {path.name for path in (tmp_path / "all.zarr" / "all").iterdir()}
    assert stored == {"zarr.json", "elsewhere(0,0)", "elsewhere(0,1)"}
    document = tmp_path / "all.zarr" / "broken" / "zarr.json"
    document.write_text(document.read_text().replace('"bytes"', '"ex.broken"'))
    reason, *values = run(READ, package, cwd=tmp_path).splitlines()
    assert "cannot load codec `ex.broken` of package `ex-package`" in reason
    assert "omnizarr.codecs: ex.broken = ex_broken:Nothing" in reason
    assert values == [
        "[[0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1]] ex.switch 1",
        "['ex_codec', 'ex_grid', 'ex_keys', 'ex_store', 'ex_transformer', 'ex_type']",
    ]


def test_the_error_without_the_package_names_the_missing_extension(package: Path, tmp_path: Path) -> None:
    run(WRITE, package, cwd=tmp_path)
    program = """
import omnizarr
try:
    omnizarr.open("all.zarr", path="all")
except ValueError as error:
    print(sorted(problem.path for problem in error.problems))
try:
    omnizarr.open("attic://all.zarr")
except ValueError as error:
    print(error.message)
"""
    paths, place = run(program, cwd=tmp_path).splitlines()
    assert paths == str(
        [
            "$.chunk_grid.name",
            "$.chunk_key_encoding.name",
            "$.codecs[1].name",
            "$.data_type",
            "$.storage_transformers[0].name",
        ]
    )
    assert place.startswith("no store is registered for `attic://`")


def test_a_package_provides_extensions_of_the_drafts_by_uri(package: Path, tmp_path: Path) -> None:
    write = f"""
import omnizarr
from ex_drafts import Reverse, Spaced

group = omnizarr.create_group(
    "draft.zarr", zarr_format="3-draft-2022", metadata_encoding="{URI}/spaced",
    extensions=[{{"extension": "{URI}/units", "must_understand": True, "configuration": {{"units": "K"}}}}],
)
group.create_array("a", data=range(6), chunks=4, filters=Reverse(), compressors=None)
"""
    read = """
import sys, omnizarr
z = omnizarr.open("draft.zarr", path="a")
print(z[...].tolist(), z.zarr_format, [name for name in sys.modules if name.startswith("ex_")])
"""
    run(write, package, cwd=tmp_path)
    assert len(list(tmp_path.glob("draft.zarr/meta/**/a.array.spaced"))) == 1
    (chunk,) = (path.read_bytes() for path in tmp_path.glob("draft.zarr/data/**/c0"))
    assert [int.from_bytes(chunk[place : place + 8], "little") for place in range(0, 32, 8)] == [3, 2, 1, 0]
    assert run(read, package, cwd=tmp_path) == "[0, 1, 2, 3, 4, 5] 3-draft-2022 ['ex_drafts']\n"


def test_the_package_of_the_tutorial(tmp_path: Path) -> None:
    """The code of the page as a module, with the entry points that the page lists for `pyproject.toml`."""
    page = blocks("docs/extensions.md")
    (toml,) = (block.text for block in page if block.kind == "toml")
    code = [block.text for block in page if block.kind == "python" and "\nclass " in block.text]
    points = tomllib.loads(toml)["project"]["entry-points"]
    module = "\n".join(text for text in code if "omnizarr.testing" not in text)
    install(tmp_path / "installed", "my-package", points, {"my_package": module})
    program = """
import sys, omnizarr
omnizarr.create_array("sqlite://a.db", shape=3, dtype="example.colour", compressors="example.bzip")[0] = (1, 2, 3)
assert "my_package" in sys.modules
print(omnizarr.open("sqlite://a.db")[...].tolist())
"""
    assert run(program, tmp_path / "installed", cwd=tmp_path) == "[(1, 2, 3), (0, 0, 0), (0, 0, 0)]\n"
