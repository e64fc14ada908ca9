"""Runs the tests of xarray's own Zarr backend, which its wheel contains, against the engine and accessor of omnizarr.

`to_zarr` of xarray's classes is replaced by that of the accessor, and the engine `zarr` by that of omnizarr. What the
tests check about stored data, they still check with zarr-python. Texts of errors are not compared, because omnizarr has
its own. Codecs in `encoding` are compared as objects of zarr-python; the engine of omnizarr gives JSON objects.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

collect_ignore: list[str] = []
try:
    import zarr  # isort: skip  # first, because most environments lack it
    import xarray as xr
    import xarray.tests.conftest
    import xarray.tests.test_backends as backends
    import xarray.tests.test_backends_datatree as trees
    from xarray.backends.common import BACKEND_ENTRYPOINTS
    from xarray.backends.zarr import ZarrBackendEntrypoint
except ImportError:  # another environment: `make test-xarray` has them
    collect_ignore.append("test_upstream.py")
else:
    from omnizarr.integrations.xarray import OmnizarrBackend

    globals().update(  # the fixtures of xarray; one of them is called `type`
        {
            name: value
            for name, value in vars(xarray.tests.conftest).items()
            if value.__class__.__name__ == "FixtureFunctionDefinition"
        }
    )

    def _as_objects(dataset: Any) -> Any:
        """Gives the variables codecs of zarr-python."""
        for variable in dataset.variables.values():
            for option in ("compressors", "filters"):
                if option in variable.encoding:
                    variable.encoding[option] = tuple(map(_as_object, variable.encoding[option]))
            if isinstance(variable.encoding.get("serializer"), dict):
                variable.encoding["serializer"] = _as_object(variable.encoding["serializer"])
        return dataset

    def _as_object(codec: Any) -> Any:
        if "id" in codec:
            import numcodecs

            return numcodecs.get_codec(codec)
        return zarr.registry.get_codec_class(codec["name"]).from_dict(codec)

    class ReplacedEngine(OmnizarrBackend):  # type: ignore[misc]
        """The engine of omnizarr with the further options of the engine `zarr`."""

        guess_can_open = ZarrBackendEntrypoint.guess_can_open

        def open_dataset(self, given: Any, *, mode: Any = None, cache_members: Any = None, **options: Any) -> Any:  # type: ignore[override]
            return _as_objects(super().open_dataset(given, **options))

        def open_groups_as_dict(self, given: Any, *, mode: Any = None, **options: Any) -> Any:  # type: ignore[override]
            return {path: _as_objects(node) for path, node in super().open_groups_as_dict(given, **options).items()}

    ReplacedEngine.open_dataset_parameters = (
        *("filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "concat_characters", "decode_coords"),
        *("use_cftime", "decode_timedelta"),
    )

    def to_zarr(
        self: Any,
        store: Any = None,
        mode: Any = None,
        synchronizer: Any = None,
        group: Any = None,
        encoding: Any = None,
        *,
        zarr_version: Any = None,
        **options: Any,
    ) -> Any:
        if options.get("zarr_format") is None:
            options["zarr_format"] = zarr_version
        if options["zarr_format"] is None and mode in (None, "w", "w-"):
            options["zarr_format"] = zarr.config.get("default_zarr_format")
        if options.get("append_dim") is not None or options.get("region") is not None:
            options["zarr_format"] = None
        return self.omnizarr.to_zarr(
            {} if store is None else store,
            mode,
            group=group,
            encoding=encoding,
            **options,
        )

    def tree_to_zarr(
        self: Any, store: Any, mode: Any = "w-", encoding: Any = None, consolidated: bool = True, **options: Any
    ) -> Any:
        return to_zarr(self, store, mode, encoding=encoding, consolidated=consolidated, **options)

    @contextlib.contextmanager
    def raises_any_text(expected: Any, *arguments: Any, match: Any = None, **options: Any) -> Any:
        with pytest.raises(expected, *arguments, **options) as info:
            yield info

    class _Pytest:
        """pytest with `raises` that does not compare texts."""

        raises = staticmethod(raises_any_text)

        def __getattr__(self, name: str) -> Any:
            return getattr(pytest, name)

    @pytest.fixture(autouse=True)
    def replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.chdir(tmp_path)  # some tests write to the working directory
        monkeypatch.setitem(BACKEND_ENTRYPOINTS, "zarr", (None, ReplacedEngine))
        monkeypatch.setattr(xr.Dataset, "to_zarr", to_zarr)
        monkeypatch.setattr(xr.DataArray, "to_zarr", to_zarr)
        monkeypatch.setattr(xr.DataTree, "to_zarr", tree_to_zarr)
        monkeypatch.setattr(backends, "pytest", _Pytest())
        monkeypatch.setattr(trees, "pytest", _Pytest())


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Skips what xarray skips, and marks the tests that cannot pass, with the reason."""
    from tests.integrations.xarray.upstream.differences import DIFFERENCES

    no_netcdf = all(importlib.util.find_spec(library) is None for library in ("scipy", "netCDF4", "h5netcdf"))
    for item in items:
        if "upstream" not in item.path.parts:
            continue
        name = item.nodeid.partition("::")[2]
        if no_netcdf and re.match(r"test_open_(mfdataset_)?fsspec|test_chunking_consistency", name):
            item.add_marker(pytest.mark.skip(reason="the test also uses a netCDF file, and no library for it is here"))
        for mark in item.iter_markers("skip_if_param"):
            options = dict(mark.kwargs)
            reason, applies = options.pop("reason", ""), options.pop("condition", True)
            parameters = getattr(getattr(item, "callspec", None), "params", {})
            if applies and all(str(parameters.get(key)) == str(value) for key, value in options.items()):
                item.add_marker(pytest.mark.skip(reason=reason))
        for reason, patterns in DIFFERENCES.items():
            if any(re.search(pattern, name) for pattern in patterns):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
