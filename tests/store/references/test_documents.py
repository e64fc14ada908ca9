"""Reference documents of kerchunk, versions 0 and 1: templates, generators, and invalid or malicious documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.references.reference_files import DATA, reference_store

import omnizarr
from omnizarr.errors import MetadataError, OmnizarrError, ReadOnlyError, StoreError
from omnizarr.store import ReferenceStore
from omnizarr.store.references.templates import fill


def test_version_0(folder: Path) -> None:
    document = {
        "whole": ["x.bin"],
        "part": ["x.bin", 10, 20],
        "text": "ä{{u}}",
        "data": "base64:AAEC",
        ".zgroup": {"zarr_format": 2},
    }
    store = reference_store(folder, document)
    assert store.get("whole") == DATA
    assert store.get("part") == DATA[10:30]
    assert store.get("part", (5, 5)) == DATA[15:20]
    assert store.get("part", (-3, None)) == DATA[27:30]
    assert store.get("whole", (-3, None)) == DATA[-3:]
    assert store.get("text") == "ä{{u}}".encode()
    assert store.get("data") == b"\0\1\2"
    assert json.loads(bytes(store.get(".zgroup") or b"")) == {"zarr_format": 2}
    assert [store.size(key) for key in document] == [len(DATA), 20, 7, 3, len(bytes(store.get(".zgroup") or b""))]
    assert store.get_partial_values([("part", None), ("absent", None), ("data", (1, 1)), ("whole", (0, 2))]) == [
        DATA[10:30],
        None,
        b"\1",
        DATA[:2],
    ]
    with pytest.raises(ReadOnlyError):
        store.set("a", b"")


def test_version_1_with_templates_and_generators(folder: Path) -> None:
    (folder / "x_0.bin").write_bytes(b"0" * 5000)
    (folder / "x_1.bin").write_bytes(b"1" * 5000)
    document = {
        "version": 1,
        "templates": {"u": "x", "f": "{{c}}_{{n}}", "ext": "bin"},
        "gen": [
            {
                "key": "gen/{{i}}.{{j}}",
                "url": "{{u}}_{{i}}.bin",
                "offset": "{{(j + 1) * 1000}}",
                "length": "10",
                "dimensions": {"i": {"stop": 2}, "j": {"start": 0, "stop": 4, "step": 2}},
            },
            {"key": "named/{{name}}", "url": "{{ u }}_{{ '%d' % n }}.{{ext}}", "dimensions": {"name": ["a"], "n": [1]}},
        ],
        "refs": {
            "key0": "{{not}} filled",
            "key1": ["x.bin", 1, 2],
            "key2": ["{{u}}.bin", 1, 2],
            "key3": ["{{f(c='x', n=1)}}.{{ext}}", 0, 3],
        },
    }
    store = reference_store(folder, document)
    generated = ["gen/0.0", "gen/0.2", "gen/1.0", "gen/1.2", "named/a"]
    assert sorted(store.list()) == sorted([*generated, "key0", "key1", "key2", "key3"])
    assert store.get("gen/1.2") == b"1" * 10
    assert store.get("key0") == b"{{not}} filled"
    assert store.get("key2") == DATA[1:3]
    assert store.get("key3") == b"111"
    assert store.size("named/a") == 5000
    assert store._reference("gen/0.2") == ("x_0.bin", 3000, 10)


MALICIOUS_TEMPLATES = [
    "{{ ''.__class__ }}",
    "{{ u.__class__ }}",
    "{{ f.__globals__ }}",
    "{{ open('x') }}",
    "{{ f(**{}) }}",
    "{{ f('x') }}",
    "{{ (lambda: 1)() }}",
    "{{ [x for x in 'a'] }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 'x' * 99999999 }}",
    "{{ 99999999999 * 99999999999 }}",
    "{{ 1 << 99999 }}",
    "{{ 1 // 0 }}",
    "{{ 1 / 2 }}",
    "{{ '%s' % 1 }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '%99d%99d' % 1 }}",
    "{{ undefined }}",
    "{{ }}",
    "{{ 'x }}",
    "{{ " + "(" * 150 + ")" * 40 + " }}",
    "{{ " + "1+" * 500 + "1 }}",
    "{% for i in range(9) %}{% endfor %}",
    "{# x #}",
    "{{ loop }}",
    "{{ 1 if 1 else 2 }}",
    "{{ True }}",
    "{{ 1.5 }}",
    "{{ u|upper }}",
]


@pytest.mark.parametrize("text", MALICIOUS_TEMPLATES)
def test_malicious_templates_are_rejected(folder: Path, text: str) -> None:
    templates = {"u": "x", "f": "{{c}}", "loop": "{{loop}}"}
    for document in (
        {"version": 1, "templates": templates, "refs": {"a": [text]}},
        {"version": 1, "templates": templates, "gen": [{"key": text, "url": "x", "dimensions": {"i": [1]}}]},
    ):
        with pytest.raises(MetadataError, match="cannot fill in"):
            reference_store(folder, document).get("a")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="{}()ui1+-*/%'\"=., [];:_x\\@\n", max_size=30))
def test_random_templates_are_filled_or_rejected(text: str) -> None:
    try:
        fill("{{" + text + "}}", {"i": 1}, {"u": "x{{i}}"}, "here")
    except MetadataError:
        pass


@pytest.mark.parametrize(
    "document",
    [
        [],
        3,
        {"version": 2, "refs": {}},
        {"version": True, "refs": {}},
        {"version": 1, "refs": []},
        {"version": 1, "templates": {"a": 1}, "refs": {}},
        {"version": 1, "gen": {}, "refs": {}},
        {"version": 1, "gen": [3]},
        {"version": 1, "gen": [{"key": "a", "url": "b"}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 10**12}}}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 2**80}}}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 5, "step": 0}}}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 2000}, "j": {"stop": 9000}}}]},
        {"version": 1, "gen": [{"key": "a", "url": "b", "offset": "{{i}}", "length": "x", "dimensions": {"i": [1]}}]},
        {"version": 1, "gen": [{"key": "a", "url": "b", "offset": "{{0-i}}", "length": "1", "dimensions": {"i": [1]}}]},
        {"../a": "x"},
        {"/a": "x"},
        {"": "x"},
        {"a": "base64:???"},
        {"a": 3},
        {"a": None},
        {"a": ["x.bin", 1]},
        {"a": ["x.bin", -1, 5]},
        {"a": ["x.bin", 1, 2.5]},
        {"a": ["x.bin", 1, True]},
        {"a": ["x.bin", 2**70, 1]},
        {"a": [3]},
        {"a": [""]},
        {"zarr_format": 3, "node_type": "group"},
    ],
)
def test_invalid_documents_are_rejected(folder: Path, document: Any) -> None:
    with pytest.raises(MetadataError):
        reference_store(folder, document).get("a")
    with pytest.raises(OmnizarrError):
        omnizarr.open(folder / "refs.json")


def test_documents_that_are_not_json_absent_or_too_large(folder: Path) -> None:
    (folder / "refs.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(MetadataError):
        ReferenceStore(folder / "refs.json").get("a")
    with pytest.raises(StoreError, match="no references found"):
        ReferenceStore(folder / "absent.json").get("a")
    (folder / "refs.json").write_text('{"a": "%s"}' % ("x" * 10_000))
    with omnizarr.config(max_document_bytes=1000), pytest.raises(MetadataError, match="limit"):
        ReferenceStore(folder / "refs.json").get("a")
