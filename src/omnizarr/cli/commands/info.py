"""`omnizarr info`: describes an array, or a group and its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from omnizarr.cli.exit_codes import CANNOT, YES, message
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Column, Output

if TYPE_CHECKING:
    from omnizarr.nodes import Array, Group
    from omnizarr.tools.describe import ArrayInfo, ArrayMember, GroupInfo
    from omnizarr.tools.element_statistics import Statistics
    from omnizarr.tools.recognize import Recognized
    from omnizarr.tools.stored import StoredSize

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("--stored", is_flag=True, help="Add stored bytes, ratio and chunks present (lists the store).")
@click.option("--stats", is_flag=True, help="Add minimum, maximum, mean, NaN and fill share (may read all elements).")
@store_options
@output_options()
def command(location: str, stored: bool, stats: bool, storage: StoreOptions, output: Output) -> int:
    """Describe the array or group at LOCATION.

    For a group, a table shows all arrays below it. For an array, all its
    metadata is shown. Known conventions are shown in their own terms: CF,
    OME-Zarr, GeoZarr, anndata, and references of kerchunk.

    \b
    Examples:
      omnizarr info weather.zarr
      omnizarr info weather.zarr/temperature --stored --stats
      omnizarr info s3://bucket/weather.zarr --anon --json
    """
    from omnizarr.tools.describe import ArrayInfo, describe
    from omnizarr.tools.recognize import recognize

    node = storage.open(location).node
    info = describe(node)
    conventions = recognize(node, info)
    amounts = _measure(node, info, stored, stats)
    if output.form == "json":
        _print_json(info, conventions, amounts, output)
    elif isinstance(info, ArrayInfo):
        _print_array(info, conventions, amounts.get("", _Amounts()), output)
    else:
        _print_group(info, conventions, amounts if stored or stats else None, output)
    return CANNOT if any(amount.failed for amount in amounts.values()) else YES


class _Amounts(NamedTuple):
    """What `--stored` and `--stats` add to an array."""

    stored: StoredSize | None = None
    statistics: Statistics | None = None
    failed: bool = False
    """Whether the array of a group could not be measured."""


def _measure(node: Array | Group, info: ArrayInfo | GroupInfo, stored: bool, stats: bool) -> dict[str, _Amounts]:
    """The stored sizes and statistics of all arrays, by path, as far as the user wants them."""
    if not (stored or stats):
        return {}
    from omnizarr.cli.progress import progress
    from omnizarr.errors import OmnizarrError
    from omnizarr.nodes import Array
    from omnizarr.tools.describe import ArrayMember, GroupInfo
    from omnizarr.tools.element_statistics import statistics
    from omnizarr.tools.stored import stored_size

    arrays: list[tuple[str, int]] = [("", info.nbytes)]
    if isinstance(info, GroupInfo):
        members = [member for member in info.members or () if isinstance(member, ArrayMember)]
        arrays = [(member.path, member.nbytes) for member in members]
    amounts: dict[str, _Amounts] = {}
    done, total = 0, sum(nbytes for _, nbytes in arrays)
    with progress("reading" if stats else "listing", bytes=True) as report:
        for path, nbytes in arrays:
            array = node if isinstance(node, Array) else node.get_array(path)

            def add(read: int, _: int, before: int = done) -> None:
                if report is not None:
                    report(before + read, total)

            try:
                numbers = statistics(array, progress=add) if stats else None
                amounts[path] = _Amounts(stored_size(array) if stored else None, numbers)
            except OmnizarrError as error:
                if isinstance(node, Array):
                    raise
                message("error", str(error))  # the other arrays of the group are still of interest
                amounts[path] = _Amounts(failed=True)
            done += nbytes
            add(0, 0, done)
    return amounts


def _print_json(
    info: ArrayInfo | GroupInfo, conventions: tuple[Recognized, ...], amounts: dict[str, _Amounts], output: Output
) -> None:
    from omnizarr.tools import as_json
    from omnizarr.tools.describe import GroupInfo

    value = as_json(info)
    value["conventions"] = as_json(conventions)
    targets = value["members"] or [] if isinstance(info, GroupInfo) else [value | {"path": ""}]
    for target in targets:
        extra = amounts.get(target["path"], _Amounts())
        owner = target if isinstance(info, GroupInfo) else value
        for name, result in (("stored", extra.stored), ("statistics", extra.statistics)):
            if result is not None:
                owner[name] = as_json(result)
    output.json(value)


def _print_conventions(conventions: tuple[Recognized, ...], output: Output) -> None:
    for convention in conventions:
        output.line()
        title = f"{convention.name} {convention.version}" if convention.version else convention.name
        output.fields([(title, convention.facts or None)])
        if not convention.facts:
            output.line(title, "title")


def _print_array(info: ArrayInfo, conventions: tuple[Recognized, ...], amounts: _Amounts, output: Output) -> None:
    from omnizarr.cli.texts import codec_text, fill_text, lengths_text, shape_with_names, size_text, statistics_rows

    output.line(f"Array /{info.path} in {info.store}", "name")
    output.line(f"{info.format_name}, {info.type}, {lengths_text(info.shape)}, {size_text(info.nbytes)}")
    output.line()
    names = info.dimension_names
    rows: list[tuple[str, Any]] = [
        ("Dimensions", None if names is None else shape_with_names(names, info.shape)),
        ("Data type", info.data_type),
        ("Chunks", f"{lengths_text(info.chunks)}, {info.nchunks:,} in total"),
        ("Shards", None if info.shards is None else lengths_text(info.shards)),
        ("Order", info.order if info.order != "C" else None),
        ("Fill value", fill_text(info.fill_value)),
        ("Filters", ", ".join(map(codec_text, info.filters)) or None),
        ("Serializer", codec_text(info.serializer)),
        ("Compressors", ", ".join(map(codec_text, info.compressors)) or "none"),
    ]
    if amounts.stored is not None:
        stored = amounts.stored
        ratio = "" if stored.ratio is None else f", ratio {stored.ratio:,.1f}"
        rows.append(("Stored", f"{size_text(stored.nbytes)}{ratio}"))
        rows.append(("Chunks stored", f"{stored.chunks:,} of {stored.nchunks:,}"))
    if amounts.statistics is not None:
        rows += statistics_rows(amounts.statistics)
    output.fields(rows)
    _print_conventions(conventions, output)
    if info.attributes:
        output.line()
        output.fields([("Attributes", info.attributes)])


def _print_group(
    info: GroupInfo, conventions: tuple[Recognized, ...], amounts: dict[str, _Amounts] | None, output: Output
) -> None:
    from omnizarr.cli.texts import human_ratio, short_reason, size_text
    from omnizarr.tools.describe import ArrayMember, UnreadableMember

    members = info.members or ()
    arrays = [member for member in members if isinstance(member, ArrayMember)]
    unreadable = [member for member in members if isinstance(member, UnreadableMember)]
    output.line(f"Group /{info.path} in {info.store}", "name")
    nodes = _count_text(info, len(arrays), len(unreadable))
    state = "consolidated" if info.consolidated else "not consolidated"
    known = [amount.stored for amount in (amounts or {}).values() if amount.stored is not None]
    total = sum(stored.nbytes for stored in known)
    stored = f", {size_text(total)} stored{human_ratio(info.nbytes, total)}" if known else ""
    output.line(f"{info.format_name}, {state}, {nodes}, {size_text(info.nbytes)}{stored}")
    if arrays:
        output.line()
        rows = [[*_cells(member), *_amount_cells((amounts or {}).get(member.path, _Amounts()))] for member in arrays]
        output.table(_COLUMNS, rows, noun="arrays")
    if unreadable:
        output.line()
        output.fields([("Unreadable", {member.path: short_reason(member.error) for member in unreadable})])
    _print_conventions(conventions, output)
    if info.attributes:
        output.line()
        output.fields([("Attributes", info.attributes)])


def _count_text(info: GroupInfo, arrays: int, unreadable: int) -> str:
    if info.members is None:
        return "members unknown (the store cannot list them)"
    groups = len(info.members) - arrays - unreadable
    counts = [(arrays, "array"), (groups, "group"), (unreadable, "unreadable")]
    texts = [f"{count:,} {kind}{'s' * (count != 1 and kind != 'unreadable')}" for count, kind in counts if count]
    more = "" if info.complete else " at least"
    return f"{len(info.members) + 1:,} nodes{more} ({', '.join(texts)})" if texts else "no members"


_COLUMNS = (
    Column("name", "name"),
    Column("dimensions", rank=2),
    Column("shape"),
    Column("type"),
    Column("chunks", rank=1),
    Column("shards", rank=3),
    Column("codecs", rank=4),
    Column("fill", right=True, rank=5),
    Column("attrs", right=True, rank=6),
    Column("size", right=True, rank=1),
    Column("stored", right=True),
    Column("ratio", right=True),
    Column("present", right=True, rank=1),
    Column("min", right=True),
    Column("max", right=True),
    Column("mean", right=True),
    Column("nan", right=True, rank=2),
    Column("is fill", right=True, rank=2),
)


def _amount_cells(amounts: _Amounts) -> Iterator[str]:
    from omnizarr.cli.texts import number_text, share_text
    from omnizarr.display.texts import human_bytes

    stored, statistics, _ = amounts
    yield "" if stored is None else human_bytes(stored.nbytes)
    yield "" if stored is None or stored.ratio is None else f"{stored.ratio:,.1f}"
    yield "" if stored is None else f"{stored.chunks}/{stored.nchunks}"
    for name in ("min", "max", "mean"):
        yield "" if statistics is None else number_text(getattr(statistics, name))
    yield "" if statistics is None else share_text(statistics.nan)
    yield "" if statistics is None else share_text(statistics.fill)


def _cells(member: ArrayMember) -> Iterator[str]:
    from omnizarr.cli.texts import codec_names, fill_text, lengths_text
    from omnizarr.display.texts import human_bytes

    yield member.path
    yield "" if member.dimension_names is None else ", ".join(name or "–" for name in member.dimension_names)
    yield lengths_text(member.shape)
    yield member.type
    yield lengths_text(member.chunks)
    yield "" if member.shards is None else lengths_text(member.shards)
    yield codec_names(member.codecs)
    yield fill_text(member.fill_value)
    yield str(member.attributes)
    yield human_bytes(member.nbytes)
