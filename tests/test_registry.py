"""Registries: names and aliases, and packages that offer more through entry points, sound or broken."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr
from omnizarr._registry import Registry
from omnizarr.codecs import codecs
from omnizarr.errors import ArgumentError, ExtensionError
from omnizarr.nodes import UnreadableNode

GROUP = "omnizarr.tests.things"


@pytest.fixture
def things() -> Registry[str]:
    return Registry("thing", GROUP)


def install(folder: Path, package: str, points: dict[str, str], modules: dict[str, str], group: str = GROUP) -> None:
    """Makes an installed distribution of a folder on the path."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_names_and_aliases(things: Registry[str]) -> None:
    things.register("apple", "a", aliases=("pomme", "apfel"))
    assert things.get("apple") == things.get("pomme") == things.get("apfel") == "a"
    assert things.get("pear") is None
    assert things.get("pomme") == "a"  # also after a search that found nothing
    assert things.names() == ("apple",)


def test_a_name_is_registered_once_unless_it_is_to_be_replaced(things: Registry[str]) -> None:
    things.register("apple", "a")
    with pytest.raises(ArgumentError, match="registered already"):
        things.register("apple", "b")
    things.register("apple", "b", replace=True)
    assert things.get("apple") == "b"


def test_a_package_offers_a_name(things: Registry[str], folder: Path) -> None:
    install(folder, "sound-package", {"pear": "sound_module:thing"}, {"sound_module": "thing = 'p'"})
    assert things.get("pear") == "p"
    assert things.get("pear") == "p"
    assert "pear" in things.names()


def test_a_broken_package_breaks_only_its_own_name(things: Registry[str], folder: Path) -> None:
    install(
        folder, "broken-package", {"plum": "broken_module:thing"}, {"broken_module": "raise RuntimeError('rotten')"}
    )
    install(folder, "other-package", {"pear": "other_module:thing"}, {"other_module": "thing = 'p'"})
    assert things.get("cherry") is None
    assert things.get("pear") == "p"
    for _ in range(2):
        with pytest.raises(ExtensionError, match="RuntimeError: rotten") as caught:
            things.get("plum")
        assert (caught.value.package, caught.value.extension) == ("broken-package", "plum")  # type: ignore[attr-defined]
    assert things.get("pear") == "p"


def test_what_the_program_registered_wins_over_a_package(things: Registry[str], folder: Path) -> None:
    install(folder, "late-package", {"pear": "late_module:thing"}, {"late_module": "thing = 'late'"})
    things.register("pear", "early", aliases=("poire",))
    assert things.get("pear") == things.get("poire") == "early"


def test_a_package_may_register_its_names_and_aliases_by_itself(folder: Path) -> None:
    install(
        folder,
        "busy-package",
        {"busy": "busy_module:Busy"},
        {
            "busy_module": "from omnizarr.codecs import Zstd, codecs\n"
            "class Busy(Zstd):\n    name = 'busy'\n"
            "codecs.register('busy', Busy, aliases=('hectic',))\n"
        },
        group="omnizarr.codecs",
    )
    codecs._points = None  # it was installed after somebody asked
    try:
        found = codecs.get("busy")
        assert found is not None
        assert codecs.get("hectic") is found
    finally:
        codecs._points = None
        codecs._items.pop("busy", None)
        codecs._aliases.pop("hectic", None)


def test_names_of_packages_are_suggested_without_being_loaded(things: Registry[str], folder: Path) -> None:
    install(folder, "dear-package", {"quince": "dear_module:thing"}, {"dear_module": "raise RuntimeError"})
    assert things.get("quinc") is None
    assert "quince" in things.names()


def test_a_broken_package_never_blocks_a_group(folder: Path) -> None:
    install(
        folder,
        "sad-package",
        {"sad": "sad_module:Sad"},
        {"sad_module": "import nothing_of_this_name"},
        group="omnizarr.codecs",
    )
    codecs._points = None
    try:
        group = omnizarr.create_group({})
        group.create_array("good", shape=3, dtype="int8")
        group.create_array("bad", shape=3, dtype="int8", compressors=None)
        document = bytes(group.store.get("bad/zarr.json") or b"").replace(b'"bytes"', b'"sad"')
        group.store.set("bad/zarr.json", document)
        members = dict(group.members())
        assert isinstance(members["bad"], UnreadableNode)
        assert "sad-package" in members["bad"].reason
        assert isinstance(members["good"], omnizarr.Array)
    finally:
        codecs._points = None
