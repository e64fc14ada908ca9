"""The same rules check configurations from arguments and from documents."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from omnizarr._json import Problems
from omnizarr.codecs.array_to_array.transpose import Transpose
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.bytes_to_bytes.blosc import Blosc
from omnizarr.codecs.bytes_to_bytes.crc32c import Crc32c
from omnizarr.codecs.bytes_to_bytes.gzip import Gzip
from omnizarr.codecs.bytes_to_bytes.zstd import Zstd
from omnizarr.codecs.contract import Codec, codecs
from omnizarr.errors import ArgumentError

CODECS = [
    Bytes(),
    Bytes("big"),
    Transpose((1, 0)),
    Transpose(()),
    Gzip(),
    Gzip(level=0),
    Blosc().resolved(4),
    Blosc("zstd", 9, "noshuffle", 2, 1024),
    Zstd(),
    Zstd(-131072, checksum=True),
    Crc32c(),
]


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_codecs_roundtrip_through_documents_and_pickle(codec: Codec) -> None:
    problems = Problems()
    assert codecs.get(codec.name) is type(codec)
    assert type(codec).parse(codec.configuration(), "$", problems) == codec
    assert not problems.found
    assert not problems.warnings
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert hash(pickle.loads(pickle.dumps(codec))) == hash(codec)


@pytest.mark.parametrize(
    ("make", "argument", "found"),
    [
        (lambda: Bytes("middle"), "endian", '"middle"'),
        (lambda: Transpose((0, 2)), "order", "[0, 2]"),
        (lambda: Transpose([0, True]), "order", "[0, true]"),
        (lambda: Transpose("K"), "order", '"K"'),
        (lambda: Transpose(1), "order", "1"),
        (lambda: Gzip(level=12), "level", "12"),
        (lambda: Gzip(level=True), "level", "true"),
        (lambda: Gzip(level=None), "level", "null"),
        (lambda: Blosc(cname="lzo"), "cname", '"lzo"'),
        (lambda: Blosc(clevel=10), "clevel", "10"),
        (lambda: Blosc(shuffle=1), "shuffle", "1"),
        (lambda: Blosc(typesize=0), "typesize", "0"),
        (lambda: Blosc(blocksize=-1), "blocksize", "-1"),
        (lambda: Zstd(level=23), "level", "23"),
        (lambda: Zstd(level=-131073), "level", "-131073"),
        (lambda: Zstd(checksum=1), "checksum", "1"),
    ],
)
def test_errors_name_the_wrong_argument(make, argument, found) -> None:
    with pytest.raises(ArgumentError, match=f"`{argument}`: expected .*, found ") as caught:
        make()
    assert caught.value.argument == argument
    assert caught.value.message.endswith(f"found {found}")


def test_the_message_for_a_wrong_argument() -> None:
    with pytest.raises(ArgumentError) as caught:
        Gzip(level=12)
    assert str(caught.value) == "codec `gzip`: `level`: expected an integer from 0 to 9, found 12"


def test_all_problems_of_a_configuration_are_reported() -> None:
    problems = Problems()
    configuration = {"cname": "lz5", "clevel": 11, "shufle": "shuffle", "typesize": "4", "blocksize": 0.5}
    assert Blosc.parse(configuration, "$.codecs[1]", problems) is None
    where = "$.codecs[1].configuration"
    assert {(problem.path, problem.hint) for problem in problems.found} == {
        (f"{where}.cname", None),
        (f"{where}.clevel", None),
        (f"{where}.shufle", "did you mean `shuffle`?"),
        (f"{where}.typesize", None),
        (f"{where}.blocksize", None),
    }


@pytest.mark.parametrize("codec", [Bytes, Transpose, Gzip, Blosc, Zstd, Crc32c])
def test_an_unknown_member_is_a_problem(codec: type[Codec]) -> None:
    problems = Problems()
    assert codec.parse({"order": [0], "quality": 3}, "$", problems) is None
    assert "$.configuration.quality" in [problem.path for problem in problems.found]


def test_importing_the_codecs_loads_no_compressor() -> None:
    code = """if True:
        import sys
        from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, Transpose, Zstd
        from omnizarr._json import Problems
        from omnizarr.codecs.contract import ByteSpec
        for codec in (Blosc(), Zstd(), Gzip()):
            codec.bind(ByteSpec(8, 8), "$", Problems())
        print(sorted({"numcodecs", "isal", "deflate", "fastcrc"} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
