"""`validate` finds each known fault by its rule, and invents none in sound data."""

from __future__ import annotations

import pytest

import omnizarr
from omnizarr.tools.validation import validate
from tests.tools.validation.faults import Fault, every_fault, sound_stores

pytestmark = pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")

FAULTS = every_fault()


def test_there_are_at_least_200_faults_of_all_generations() -> None:
    assert len(FAULTS) >= 200
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.rule[0] for fault in FAULTS} == set("RVUSTKAZ§")


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_found_by_its_rule_and_by_no_other(fault: Fault) -> None:
    report = validate(dict(fault.store), data=fault.data, zarr_format=fault.zarr_format)
    findings = [finding for finding in report.findings if finding.level != "advice"]
    assert {(finding.level, finding.rule) for finding in findings} == {(fault.level, fault.rule)}
    assert report.valid == (fault.level != "error")
    assert all(finding.message and finding.mend and finding.path.startswith("/") for finding in findings)
    strict = validate(dict(fault.store), data=fault.data, zarr_format=fault.zarr_format, strict=True)
    assert not strict.valid


@pytest.mark.parametrize(("name", "store"), sound_stores().items(), ids=str)
def test_sound_documents_have_no_finding(name: str, store: dict[str, bytes]) -> None:
    report = validate(dict(store), data=True, strict=True)
    assert [finding for finding in report.findings if finding.level != "advice"] == []
    assert report.valid


def test_chunks_above_the_limit_for_memory_are_not_called_damaged() -> None:
    z = omnizarr.create_array({}, shape=(8, 8), chunks=(2, 4), dtype="u1", compressors=None)
    with omnizarr.config(max_chunk_bytes=7):
        assert validate(z.store, data=True, strict=True).valid  # no chunk is stored
    z[...] = 1
    with omnizarr.config(max_chunk_bytes=7):
        (finding,) = validate(z.store, data=True).findings
    assert (finding.level, finding.kind, finding.path) == ("warning", "unchecked", "/")
    assert "8 bytes, more than the limit of 7" in finding.message
    assert "OMNIZARR_MAX_CHUNK_BYTES" in finding.mend
