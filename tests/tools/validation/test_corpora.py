"""`validate` on what other programs wrote: no finding is invented."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from omnizarr.tools.validation import validate
from tests.corpora.reading import CORPORA, all_stored

pytestmark = pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")

DEVIATIONS = {
    "A6",  # GDAL and zarrita.js write null as a fill value in version 3
    "A12",  # zarr-python 3 writes raw bytes as base64
    "A55",  # zarr 1.x writes order F only with blosc
    "A60",  # Python writes bare NaN
    "K11",  # zarr-python 2 writes compressors with an `id` into N5
    "R12",  # zarr-python 3 writes `raw_bytes` as an object
    "R150",  # zarr-python 3 wrote `structured` without a byte order
    "T6",  # zarr-python 2 adds `dimension_separator` to the draft
    "U12",  # a copy without `attrs`
    "V11",  # zarr 2.1 writes 0 for bytes
    "V29",  # zarr 2.1 and 2.2 have other forms of fill values
    "§1.7",  # zarr-python 3.0 writes null as consolidated metadata
}
"""Rules from which programs of the corpora are known to deviate."""


def sound_places() -> list[tuple[Path, object]]:
    """The roots of all stored hierarchies that a reader accepts, with the generation to ask for."""
    roots: dict[Path, object] = {}
    for stored in all_stored():
        if not stored.expected.marks & {"reject", "shards-lost"}:
            needs_format = "tensorstore" in str(stored.location) and stored.location.name == "all.n5"
            roots.setdefault(Path(stored.location), "n5" if needs_format else None)
        else:
            roots[Path(stored.location)] = "damaged"
    for base in ("v3", "draft-2022", "imagecodecs"):
        for path in sorted([*(CORPORA / base).rglob("zarr.json"), *(CORPORA / base).rglob(".zarray")]):
            if not any(root in path.parents for root in roots):
                roots[path.parent] = None
    return [(root, zarr_format) for root, zarr_format in roots.items() if zarr_format != "damaged"]


def test_no_finding_is_invented_on_sound_corpora() -> None:
    places = sound_places()
    assert len(places) > 700
    found: Counter[tuple[str, str]] = Counter()
    for place, zarr_format in places:
        report = validate(place, data=True, zarr_format=zarr_format)  # type: ignore[arg-type]
        assert report.valid, (place, report.findings[0])
        found.update((finding.level, finding.rule) for finding in report.findings if finding.level == "warning")
    assert {rule for _, rule in found} <= DEVIATIONS
