"""Conversion between v2 configurations and codecs, and invalid configurations."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import numcodecs
import numcodecs.abc
import numcodecs.registry
import numpy as np
import pytest
from tests.codecs.binding import from_config

from omnizarr._json import Problems
from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, Transpose, Zstd, codec_of, codecs, parse_codecs
from omnizarr.codecs import numcodecs_ as family
from omnizarr.codecs.contract import ByteSpec, Codec
from omnizarr.codecs.numcodecs_.filter_on_bytes import FilterOnBytes
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config, config_of, known_ids
from omnizarr.codecs.parsing import parse_codec
from omnizarr.errors import ArgumentError

CODECS: list[Codec] = [
    family.Adler32(),
    family.AsType("<f4", "<f8"),
    family.Base64(),
    family.BitRound(3),
    family.Bz2(9),
    family.Categorize(["a", "b"], "<U1"),
    family.Crc32("end"),
    family.Delta("<i4", "<i2"),
    family.FixedScaleOffset(10, 0.5, "<f8", "|u1"),
    family.Fletcher32(),
    family.JenkinsLookup3(3, b"ab"),
    family.Json2(indent=2),
    family.LegacyJson(),
    family.LegacyMsgpack(),
    family.Lz4(2),
    family.Lzma(filters=[{"id": 33, "preset": 1}]),
    family.Lzma(preset=9),
    family.Msgpack2(raw=True),
    family.NumcodecsBlosc("zstd", 3, -1),
    family.NumcodecsBlosc(typesize=4),
    family.NumcodecsCrc32c("start"),
    family.NumcodecsGzip(9),
    family.NumcodecsZstd(-5, checksum=True),
    family.PackBits(),
    family.Pcodec(level=3),
    family.Pickle(4),
    family.Quantize(3, "<f8", "<f4"),
    family.Shuffle(8),
    family.VlenArray("<i2"),
    family.Zfpy(tolerance=0.1),
    family.Zlib(4),
]


def test_every_codec_has_a_sample() -> None:
    places = {*family.REGISTERED.values(), *family.PRIVATE.values()}
    assert {type(codec).__name__ for codec in CODECS} == {place.partition(":")[2] for place in places}
    # imagecodecs registers its codecs with numcodecs when it is imported: `test_imagecodecs`.
    ids = {id for id in numcodecs.registry.codec_registry if not id.startswith("imagecodecs_")}
    assert ids - {"vlen-utf8", "vlen-bytes"} <= {*family.REGISTERED, *family.PRIVATE}


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_codecs_roundtrip_through_documents_and_pickle(codec: Any) -> None:
    for reader, members in ((type(codec).parse, codec.configuration()), (type(codec).from_config, codec.to_config())):
        problems = Problems()
        assert reader(json.loads(json.dumps(members)), "$", problems) == codec
        assert not problems.found
        assert not problems.warnings
    copy = pickle.loads(pickle.dumps(codec))
    assert copy == codec
    assert hash(copy) == hash(codec)
    assert codec.name == f"numcodecs.{codec.id}"
    assert not hasattr(codec, "__dict__") or not vars(codec)  # the class has slots, although its bases have none


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_v3_names(codec: Any) -> None:
    registered = codec.id in family.REGISTERED
    assert codec.private != registered
    assert (codecs.get(codec.name) is type(codec)) == registered
    if not registered:
        assert codecs.get(codec.name) is not type(codec)  # zarrs has its own codec `numcodecs.vlen-array`


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_configurations_equal_those_of_numcodecs(codec: Any) -> None:
    config = {"id": codec.id, **codec.to_config()}
    if codec.id in ("json", "msgpack"):
        pytest.skip("numcodecs has removed them")
    if codec == family.JenkinsLookup3(3, b"ab"):
        pytest.skip("numcodecs has no JSON form for a prefix")
    if codec.id not in numcodecs.registry.codec_registry:
        pytest.skip("the package that numcodecs needs is not installed")
    theirs = json.loads(json.dumps(numcodecs.get_codec(config).get_config()))
    config.pop("typesize", None)  # numcodecs accepts it, but does not write it
    if "location" in config:
        theirs.setdefault("location", "start")  # numcodecs does not write the default
    assert theirs == config
    assert list(theirs) == list(config)
    assert type(codec).from_config({k: v for k, v in theirs.items() if k != "id"}, "$", Problems()) is not None


CORE: list[tuple[dict[str, Any], Codec]] = [
    ({"id": "zstd", "level": 3}, Zstd(3)),
    ({"id": "zstd", "level": 3, "checksum": True}, Zstd(3, checksum=True)),
    ({"id": "gzip", "level": 4}, Gzip(4)),
    (
        {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 9},
        Blosc("zstd", 3, "bitshuffle", None, 9),
    ),
    ({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, "blocksize": 0}, Blosc()),
    ({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0, "blocksize": 0}, Blosc(shuffle="noshuffle")),
    ({"id": "crc32c", "location": "end"}, Crc32c()),
]


@pytest.mark.parametrize(("config", "codec"), CORE, ids=str)
def test_ids_with_an_equal_core_codec_become_the_core_codec(config: dict[str, Any], codec: Codec) -> None:
    assert from_config(config) == codec
    assert config_of(codec) == config


def test_missing_members_have_the_defaults_of_numcodecs() -> None:
    assert from_config({"id": "zlib"}) == family.Zlib(1)
    assert from_config({"id": "gzip"}) == Gzip(1)
    assert from_config({"id": "zstd"}) == Zstd(0)
    assert from_config({"id": "blosc"}) == Blosc(shuffle="shuffle")
    assert from_config({"id": "shuffle"}) == family.Shuffle(4)
    assert from_config({"id": "crc32"}) == family.Crc32("start")
    assert from_config({"id": "crc32", "location": None}) == family.Crc32("start")
    assert from_config({"id": "crc32c"}) == Crc32c()
    assert from_config({"id": "delta", "dtype": "<i4"}) == family.Delta("<i4", "<i4")


def test_values_from_other_releases() -> None:
    assert from_config({"id": "zstd", "level": 99}) == Zstd(22)
    assert from_config({"id": "gzip", "level": -1}) == Gzip(6)
    assert from_config({"id": "lz4", "acceleration": -3}) == family.Lz4(-3)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_config_of_and_codec_from_config_roundtrip(codec: Any) -> None:
    config = config_of(codec)
    assert config is not None
    if codec.id in ("blosc", "zstd", "gzip"):
        assert from_config(config) == codec.core
    else:
        assert from_config(config) == codec


def test_codecs_without_a_v2_form() -> None:
    assert config_of(Bytes("little")) is None
    assert config_of(Transpose((1, 0))) is None


def test_a_filter_on_bytes_is_written_as_the_filter() -> None:
    delta = family.Delta("<i4")
    assert config_of(FilterOnBytes(delta)) == {"id": "delta", "dtype": "<i4", "astype": "<i4"}
    assert FilterOnBytes(delta).private
    assert pickle.loads(pickle.dumps(FilterOnBytes(delta))) == FilterOnBytes(delta)
    assert hash(FilterOnBytes(delta)) == hash(FilterOnBytes(family.Delta("<i4")))


# -- invalid configurations


@pytest.mark.parametrize(
    ("config", "path", "message"),
    [
        (None, "$", "expected an object with the `id` of a codec, found null"),
        ("zlib", "$", 'expected an object with the `id` of a codec, found "zlib"'),
        ({"level": 1}, "$.id", "expected the id of a codec, found null"),
        ({"id": ["zlib"]}, "$.id", 'expected the id of a codec, found ["zlib"]'),
        ({"id": "zlbi"}, "$.id", "unknown codec `zlbi`"),
        ({"id": "zlib", "level": 10}, "$.level", "expected an integer from -1 to 9, found 10"),
        ({"id": "zlib", "level": True}, "$.level", "expected an integer from -1 to 9, found true"),
        ({"id": "bz2", "level": 0}, "$.level", "expected an integer from 1 to 9, found 0"),
        ({"id": "blosc", "shuffle": "SOME"}, "$.shuffle", 'expected an integer from -1 to 2, found "SOME"'),
        ({"id": "lzma", "format": 3}, "$.filters", "raw data (`format` 3) require `filters`"),
        ({"id": "lzma", "preset": 3, "filters": [{"id": 33}]}, "$.preset", "`filters` or `preset`, found both"),
        ({"id": "lzma", "format": 2, "check": 4}, "$.check", "only .xz (`format` 1) has a `check`"),
        ({"id": "lzma", "filters": []}, "$.filters", "expected a list of one to four filters"),
        ({"id": "lzma", "filters": [{"dist": 4}]}, "$.filters", "expected a list of one to four filters"),
        ({"id": "lzma", "filters": [{"id": 33, "size": 4}]}, "$.filters", "expected a list of one to four filters"),
        ({"id": "lzma", "check": 2}, "$.check", "expected −1, 0, 1, 4 or 10, found 2"),
        ({"id": "lzma", "preset": 10}, "$.preset", "expected a preset from 0 to 9, or null, found 10"),
        ({"id": "crc32", "location": "middle"}, "$.location", "expected `start` or `end`, or null"),
        ({"id": "jenkins_lookup3", "initval": -1}, "$.initval", "expected an integer from 0 to 4294967295"),
        ({"id": "jenkins_lookup3", "prefix": [256]}, "$.prefix", "expected a list of bytes, or null, found [256]"),
        ({"id": "shuffle", "elementsize": "four"}, "$.elementsize", "expected an integer from 0 to"),
        ({"id": "delta"}, "$", "`dtype` is missing: expected a type of numbers such as `<i4`"),
        ({"id": "delta", "dtype": "|O"}, "$.dtype", "expected a type of numbers"),
        ({"id": "delta", "dtype": "<U4"}, "$.dtype", "expected a type of numbers"),
        ({"id": "delta", "dtype": "i4,i4"}, "$.dtype", "expected a type of numbers"),
        ({"id": "delta", "dtype": "a5"}, "$.dtype", "expected a type of numbers"),
        ({"id": "delta", "dtype": [["a", "<i4"]]}, "$.dtype", "expected a type of numbers"),
        ({"id": "delta", "dtype": "<i4", "astype": "quux"}, "$.astype", "expected a type of numbers"),
        ({"id": "fixedscaleoffset", "scale": 0, "offset": 0}, "$.scale", "expected a finite number other than 0"),
        ({"id": "fixedscaleoffset", "scale": 10**400, "offset": 0}, "$.scale", "expected a finite number other than 0"),
        ({"id": "fixedscaleoffset", "scale": 1, "offset": "one"}, "$.offset", "expected a finite number"),
        ({"id": "fixedscaleoffset", "scale": 1}, "$", "`offset` is missing"),
        ({"id": "quantize", "digits": 2, "dtype": "<i4"}, "$.dtype", "expected a type of floats such as"),
        ({"id": "quantize", "digits": 2.5, "dtype": "<f4"}, "$.digits", "expected an integer from -300 to 300"),
        ({"id": "bitround"}, "$", "`keepbits` is missing"),
        ({"id": "bitround", "keepbits": -1}, "$.keepbits", "expected an integer from 0 to 52, found -1"),
        ({"id": "categorize", "labels": "ab", "dtype": "|O"}, "$.labels", 'expected a list of strings, found "ab"'),
        ({"id": "categorize", "labels": [], "dtype": "<i4"}, "$.dtype", "expected `|O`, or a type such as `<U4`"),
        ({"id": "categorize", "labels": [], "dtype": "|O", "astype": "|O"}, "$.astype", "expected a type of integers"),
        ({"id": "vlen-array", "dtype": "|O"}, "$.dtype", "expected a type such as"),
        ({"id": "json2", "encoding": "punycode"}, "$.encoding", "expected the name of an encoding of text"),
        ({"id": "json2", "encoding": "\0"}, "$.encoding", "expected the name of an encoding of text"),
        ({"id": "json2", "indent": 10**9}, "$.indent", "expected a number of spaces up to 20, or null"),
        ({"id": "json2", "separators": ","}, "$.separators", "expected a list of two strings, or null"),
        ({"id": "msgpack", "encoding": "latin-1"}, "$.encoding", "expected `utf-8`, or null"),
        ({"id": "pickle", "protocol": "five"}, "$.protocol", "expected an integer from 0 to 255"),
        ({"id": "zfpy", "mode": 1}, "$.mode", "expected an integer from 2 to 4, found 1"),
        ({"id": "pcodec", "delta_spec": "none", "delta_encoding_order": 1}, "$.delta_encoding_order", "requires"),
        ({"id": "pcodec", "paging_spec": "other"}, "$.paging_spec", "expected `equal_pages_up_to`"),
    ],
    ids=str,
)  # fmt: skip
def test_invalid_configurations(config: Any, path: str, message: str) -> None:
    problems = Problems()
    assert codec_from_config(config, "$", problems) is None
    assert [problem.path for problem in problems.found] == [path]
    assert message in problems.found[0].message


@pytest.mark.parametrize(
    ("config", "meaning"),
    [
        ({"id": "blosc", "shuffle": "NONE"}, {"id": "blosc", "shuffle": 0}),  # GDAL
        ({"id": "blosc", "shuffle": "BYTE"}, {"id": "blosc", "shuffle": 1}),
        ({"id": "blosc", "shuffle": "BIT"}, {"id": "blosc", "shuffle": 2}),
        ({"id": "blosc", "shuffle": "bitshuffle"}, {"id": "blosc", "shuffle": 2}),
        ({"id": "blosc", "clevel": "7", "shuffle": "-1"}, {"id": "blosc", "clevel": 7, "shuffle": -1}),
        ({"id": "zstd", "level": "3", "checksum": "YES"}, {"id": "zstd", "level": 3, "checksum": True}),  # GDAL
        ({"id": "zstd", "checksum": "NO"}, {"id": "zstd", "checksum": False}),
        ({"id": "zlib", "level": "9"}, {"id": "zlib", "level": 9}),
        ({"id": "shuffle", "elementsize": "4"}, {"id": "shuffle", "elementsize": 4}),
        (
            {"id": "fixedscaleoffset", "scale": "2.5", "offset": "-1", "dtype": "<f4"},
            {"id": "fixedscaleoffset", "scale": 2.5, "offset": -1, "dtype": "<f4"},
        ),
        ({"id": "lzma", "preset": "none"}, {"id": "lzma", "preset": None}),
    ],
    ids=str,
)
def test_text_may_state_an_option(config: Any, meaning: Any) -> None:
    problems = Problems()
    codec = codec_from_config(config, "$", problems)
    assert codec is not None, problems.found
    assert codec == codec_from_config(meaning, "$", problems)
    assert not problems.found


@pytest.mark.parametrize("id", sorted(family.REGISTERED))
def test_A45_numcodecs_0_14_repeats_the_id_in_v3(id: str) -> None:
    arguments = {
        "delta": {"dtype": "int32"},
        "astype": {"encode_dtype": "int64", "decode_dtype": "int32"},
        "fixedscaleoffset": {"offset": 0, "scale": 10, "dtype": "float32"},
        "quantize": {"digits": 2, "dtype": "float32"},
        "bitround": {"keepbits": 5},
    }
    configuration: dict[str, Any] = arguments.get(id, {})
    problems = Problems()
    codec = parse_codec({"name": f"numcodecs.{id}", "configuration": {"id": id, **configuration}}, "$", problems)
    assert codec is not None, problems.found
    assert codec == parse_codec({"name": f"numcodecs.{id}", "configuration": configuration}, "$", problems)
    assert "id" not in codec.configuration()
    wrong = {"name": f"numcodecs.{id}", "configuration": {"id": "quux", **configuration}}
    parse_codec(wrong, "$", problems)
    assert [problem.path for problem in problems.found] == ["$.configuration.id"]


def test_all_problems_are_reported_and_unknown_members_are_ignored() -> None:
    problems = Problems()
    config = {"id": "lzma", "format": 7, "preset": "a", "quality": 3}
    assert codec_from_config(config, "$.filters[1]", problems) is None
    assert [problem.path for problem in problems.found] == ["$.filters[1].format", "$.filters[1].preset"]
    assert [problem.path for problem in problems.warnings] == ["$.filters[1].quality"]
    assert codec_from_config({"id": "zlib", "quality": 3}, "$", Problems()) == family.Zlib()


def test_the_hint_for_an_unknown_id() -> None:
    problems = Problems()
    codec_from_config({"id": "fixedscaleofset"}, "$", problems)
    assert problems.found[0].hint == "did you mean `fixedscaleoffset`?"
    assert "zlib" in known_ids()


def test_raw_lzma_with_unknown_filters() -> None:
    problems = Problems()
    codec = from_config({"id": "lzma", "format": 3, "filters": [{"id": 999}]})
    assert codec.bind(ByteSpec(5, 5), "$.compressor", problems) is None
    assert problems.found[0].path == "$.compressor.configuration.filters"


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: family.Zlib(11), "level"),
        (lambda: family.Delta(None), "dtype"),
        (lambda: family.Delta("O"), "dtype"),
        (lambda: family.Lzma(format=3), "filters"),
        (lambda: family.Lzma(filters=[{"id": "x"}]), "filters"),
        (lambda: family.BitRound(True), "keepbits"),
        (lambda: family.Categorize("ab", "O"), "labels"),
        (lambda: family.Json2(separators=","), "separators"),
        (lambda: family.Shuffle(-1), "elementsize"),
    ],
)
def test_errors_name_the_wrong_argument(make: Any, argument: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.argument == argument


def test_type_arguments_may_have_any_form_of_numpy() -> None:
    assert family.Delta("int32") == family.Delta("<i4") == family.Delta(np.int32) == family.Delta(np.dtype("<i4"))
    assert family.AsType(float, "f4") == family.AsType("<f8", "<f4")
    assert family.VlenArray(int) == family.VlenArray("<i8")


# -- v3


def test_v3_documents() -> None:
    problems = Problems()
    listed = [
        {"name": "numcodecs.delta", "configuration": {"dtype": "int32"}},
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "numcodecs.shuffle", "configuration": {}},
        {"name": "numcodecs.crc32", "configuration": {}},
        {"name": "numcodecs.zlib", "configuration": {"level": 11}},
        {"name": "numcodecs.json2"},
    ]
    result = parse_codecs(listed, "$.codecs", problems)
    assert result == (family.Delta("<i4"), Bytes("little"), family.Shuffle(), family.Crc32())
    assert [problem.path for problem in problems.found] == ["$.codecs[4].configuration.level", "$.codecs[5].name"]
    assert not problems.warnings


def test_unknown_members_are_problems_in_v3_documents() -> None:
    problems = Problems()
    assert parse_codecs([{"name": "numcodecs.bz2", "configuration": {"levle": 3}}], "$", problems) == ()
    assert problems.found[0].hint == "did you mean `level`?"


def test_the_default_element_size_of_shuffle_is_that_of_the_array() -> None:
    assert family.Shuffle().resolved(8) == family.Shuffle(8)
    assert family.Shuffle(2).resolved(8) == family.Shuffle(2)
    assert family.Shuffle().to_json() == {"name": "numcodecs.shuffle", "configuration": {}}
    bound = family.Shuffle().bind(ByteSpec(8, 8, 2), "$", Problems())
    assert bytes(bound.encode(b"aAbBcCdD")) == b"abcdABCD"


def test_codecs_by_name() -> None:
    assert codec_of("numcodecs.bz2", "compressors") == family.Bz2()
    assert codec_of({"name": "numcodecs.lz4"}, "compressors") == family.Lz4()


def test_modules_are_imported_at_first_use() -> None:
    code = """if True:
        import sys
        import omnizarr.codecs
        before = {name for name in sys.modules if name.startswith("omnizarr.codecs.numcodecs_.")}
        omnizarr.codecs.codec_of({"name": "numcodecs.lz4"}, "compressors")
        after = {name.rpartition(".")[2] for name in sys.modules if name.startswith("omnizarr.codecs.numcodecs_.")}
        print(sorted(before), sorted(after), sorted({"numcodecs", "msgpack", "zfpy", "pcodec"} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ['base', 'lz4'] []"


def test_names_of_the_module() -> None:
    assert family.Delta.id == "delta"
    for name in family.__all__:
        assert getattr(family, name) is not None
    with pytest.raises(AttributeError, match="no attribute `Quux`"):
        family.Quux  # noqa: B018
