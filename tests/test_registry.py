"""Registries: names, aliases, and valid and broken entry points of installed packages."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr._registry import Registry, subclass_of
from omnizarr.codecs import Zstd, codecs
from omnizarr.errors import ArgumentError, ExtensionError
from omnizarr.nodes import UnreadableNode
from tests.registries import install, restoring

GROUP = "omnizarr.tests.things"
Points = dict[str, str]


def offer(folder: Path, package: str, points: Points, modules: dict[str, str]) -> None:
    install(folder, package, {GROUP: points}, modules)


@pytest.fixture
def things() -> Registry[str]:
    return Registry("thing", GROUP)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_names_and_aliases(things: Registry[str]) -> None:
    things.register("apple", "a", aliases=("pomme", "apfel"))
    assert things.get("apple") == things.get("pomme") == things.get("apfel") == "a"
    assert things.get("pear") is None
    assert things.get("pomme") == "a"  # also after a lookup without a result
    assert things.names() == ("apple",)


def test_registering_a_name_again_needs_replace(things: Registry[str]) -> None:
    things.register("apple", "a")
    with pytest.raises(ArgumentError, match="registered already"):
        things.register("apple", "b")
    things.register("apple", "b", replace=True)
    assert things.get("apple") == "b"


def test_a_package_offers_a_name(things: Registry[str], folder: Path) -> None:
    offer(folder, "sound-package", {"pear": "sound_module:thing"}, {"sound_module": "thing = 'p'"})
    assert things.get("pear") == "p"
    assert things.get("pear") == "p"
    assert "pear" in things.names()


def test_a_broken_package_breaks_only_its_own_name(things: Registry[str], folder: Path) -> None:
    offer(folder, "broken-package", {"plum": "broken_module:thing"}, {"broken_module": "raise RuntimeError('rotten')"})
    offer(folder, "other-package", {"pear": "other_module:thing"}, {"other_module": "thing = 'p'"})
    assert things.get("cherry") is None
    assert things.get("pear") == "p"
    for _ in range(2):
        with pytest.raises(ExtensionError, match="RuntimeError: rotten") as caught:
            things.get("plum")
        assert (caught.value.package, caught.value.extension) == ("broken-package", "plum")  # type: ignore[attr-defined]
    assert things.get("pear") == "p"


def test_an_item_of_the_program_takes_precedence_over_a_package(things: Registry[str], folder: Path) -> None:
    offer(folder, "late-package", {"pear": "late_module:thing"}, {"late_module": "thing = 'late'"})
    things.register("pear", "early", aliases=("poire",))
    assert things.get("pear") == things.get("poire") == "early"


def test_a_package_may_register_its_names_during_its_import(folder: Path) -> None:
    install(
        folder,
        "busy-package",
        {"omnizarr.codecs": {"busy": "busy_module:Busy"}},
        {
            "busy_module": "from omnizarr.codecs import Zstd, codecs\n"
            "class Busy(Zstd):\n    name = 'busy'\n"
            "codecs.register('busy', Busy, aliases=('hectic',))\n"
        },
    )
    with restoring(codecs):
        found = codecs.get("busy")
        assert found is not None
        assert codecs.get("hectic") is found


def test_names_of_packages_are_suggested_without_an_import(things: Registry[str], folder: Path) -> None:
    offer(folder, "dear-package", {"quince": "dear_module:thing"}, {"dear_module": "raise RuntimeError"})
    assert things.get("quinc") is None
    assert "quince" in things.names()


def test_a_broken_package_never_blocks_a_group(folder: Path) -> None:
    install(
        folder,
        "sad-package",
        {"omnizarr.codecs": {"sad": "sad_module:Sad"}},
        {"sad_module": "import nothing_of_this_name"},
    )
    with restoring(codecs):
        group = omnizarr.create_group({})
        group.create_array("good", shape=3, dtype="int8")
        group.create_array("bad", shape=3, dtype="int8", compressors=None)
        document = bytes(group.store.get("bad/zarr.json") or b"").replace(b'"bytes"', b'"sad"')
        group.store.set("bad/zarr.json", document)
        members = dict(group.members())
        assert isinstance(members["bad"], UnreadableNode)
        assert "sad-package" in members["bad"].reason
        assert isinstance(members["good"], omnizarr.Array)
        with pytest.raises(ExtensionError, match="cannot open array `bad` in .*entry point `omnizarr.codecs: sad = "):
            group["bad"]


# -- registering again


def make(name: str, module: str = "a_notebook") -> type[Zstd]:
    return type(name, (Zstd,), {"__module__": module, "__qualname__": name})


def test_a_notebook_cell_may_run_again() -> None:
    registry: Registry[type[Zstd]] = Registry("codec", GROUP, subclass_of(Zstd))
    first, second = make("Mine"), make("Mine")
    registry.register("mine", first, aliases=("my",))
    registry.register("mine", second, aliases=("my",))
    assert registry.get("mine") is registry.get("my") is second
    with pytest.raises(ArgumentError, match="`mine` is registered already") as caught:
        registry.register("mine", make("Other"))
    assert "replace=True" in str(caught.value)
    with pytest.raises(ArgumentError, match="`mine` is registered already"):
        registry.register("mine", make("Mine", "another_notebook"))
    assert registry.get("mine") is second


def test_built_in_items_are_replaced_only_on_request() -> None:
    with restoring(codecs):
        for name in ("zstd", "gzip", "endian"):  # registered, offered, and an alias
            with pytest.raises(ArgumentError, match=f"`{name}` is registered already"):
                codecs.register(name, make("Mine"))
            with pytest.raises(ArgumentError, match=f"`{name}` is registered already"):
                codecs.register("mine", make("Mine"), aliases=(name,))
        with pytest.raises(ArgumentError, match="registered already"):
            codecs.register("zstd", Zstd)  # a built-in class does not come from a notebook cell
        mine = make("Mine")
        codecs.register("endian", mine, replace=True)
        assert codecs.get("endian") is mine
        assert codecs.get("bytes") is omnizarr.codecs.Bytes
    assert codecs.get("endian") is omnizarr.codecs.Bytes


def test_items_of_another_type_are_rejected() -> None:
    registry: Registry[type[Zstd]] = Registry("codec", GROUP, subclass_of(omnizarr.codecs.Codec))
    with pytest.raises(ArgumentError, match="expected a class that is derived from `Codec`, found 3"):
        registry.register("mine", 3)
    with pytest.raises(ArgumentError, match="expected a class that is derived from `Codec`, found Zstd"):
        registry.register("mine", Zstd())
    with pytest.raises(ArgumentError, match="`BytesCodec` lacks `bind`, `configuration`, `parse`"):
        registry.register("mine", omnizarr.codecs.BytesCodec)
    assert registry.get("mine") is None


def test_a_package_may_offer_an_old_name(folder: Path) -> None:
    """Documents with the old name are read, and written with the new one."""
    install(folder, "old-package", {"omnizarr.codecs": {"old.zstd": "omnizarr.codecs:Zstd"}}, {})
    with restoring(codecs):
        z = omnizarr.create_array(store := {}, data=[1, 2, 3], compressors={"name": "old.zstd"})
        assert z.compressors == (Zstd(),)
        assert b"old.zstd" not in bytes(store["zarr.json"])


# -- faulty packages


def test_a_name_that_two_packages_offer_is_an_error_on_lookup(things: Registry[str], folder: Path) -> None:
    """The order of packages depends on the machine, and decoded data must not depend on it."""
    offer(folder / "one", "one-package", {"fig": "one_module:thing"}, {"one_module": "thing = 1"})
    offer(
        folder / "two",
        "two-package",
        {"fig": "two_module:thing", "date": "two_module:thing"},
        {"two_module": "thing = 2"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "one"))
        patch.syspath_prepend(str(folder / "two"))
        assert things.get("date") == 2
        with pytest.raises(ExtensionError, match="several packages offer it") as caught:
            things.get("fig")
        assert caught.value.package == "one-package, two-package"  # type: ignore[attr-defined]
        things.register("fig", "chosen")
        assert things.get("fig") == "chosen"


def test_a_package_found_twice_on_the_path_counts_once(things: Registry[str], folder: Path) -> None:
    for place in ("one", "two"):
        offer(folder / place, "twice-package", {"lime": "twice_module:thing"}, {"twice_module": "thing = 1"})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "one"))
        patch.syspath_prepend(str(folder / "two"))
        assert things.get("lime") == 1


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        ("sour_module:thing", "import nothing_of_this_name", "ModuleNotFoundError"),
        ("sour_module:thing", "import sys; sys.exit('no')", "SystemExit: no"),
        ("sour_module:thing", "x = (", "SyntaxError"),
        ("sour_module:missing", "", "AttributeError"),
        ("no module of this name", "", "Error"),
        ("sour_module:thing", "thing = 'a codec'", "TypeError: expected a class that is derived from `Codec`"),
        ("sour_module:thing", "from omnizarr.codecs import BytesCodec as thing", "TypeError: `BytesCodec` lacks"),
    ],
    ids=["import", "exit", "syntax", "absent", "value", "type", "abstract"],
)
def test_the_error_names_a_broken_entry_point(folder: Path, value: str, text: str, reason: str) -> None:
    registry: Registry[type[Zstd]] = Registry("codec", GROUP, subclass_of(omnizarr.codecs.Codec))
    offer(folder, "sour-package", {"lemon": value}, {"sour_module": text})
    offer(folder, "sweet-package", {"pear": "omnizarr.codecs:Zstd"}, {})
    sys.modules.pop("sour_module", None)
    assert registry.get("pear") is Zstd
    assert "lemon" in registry.names()
    with pytest.raises(ExtensionError) as caught:
        registry.get("lemon")
    error: Any = caught.value
    assert (error.kind, error.extension, error.package) == ("codec", "lemon", "sour-package")
    assert error.entry_point == f"{GROUP}: lemon = {value}"
    assert reason in str(error)


@pytest.mark.parametrize("text", [b"[omnizarr.tests.things]\nno equals sign\n", b"\xff\xfe", b"[omnizarr.tests.things"])
def test_a_damaged_list_of_entry_points_does_not_hide_others(things: Registry[str], folder: Path, text: bytes) -> None:
    offer(folder, "a-damaged-package", {}, {})
    (folder / "a-damaged-package-1.0.dist-info" / "entry_points.txt").write_bytes(text)
    offer(folder, "sound-package", {"pear": "sound_module:thing"}, {"sound_module": "thing = 'p'"})
    assert things.get("apple") is None
    assert things.get("pear") == "p"


def test_concurrent_lookups_return_the_same_item(things: Registry[object], folder: Path) -> None:
    offer(folder, "slow-package", {"pear": "slow_module:Thing"}, {"slow_module": "class Thing: pass"})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: things.get("pear"), range(32)))
    assert len(set(map(id, found))) == 1
