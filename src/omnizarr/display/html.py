"""The HTML of arrays, groups and trees for notebooks.

It shows what the handle knows and reads nothing from the store. All names and attributes are escaped: a file may come
from an unknown writer. There is no script. The colours follow the text of the page, so they fit light and dark themes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from omnizarr.display.chunk_drawing import chunk_drawing
from omnizarr.display.texts import MOST_ATTRIBUTES, by_path, digits, human_bytes, shape_text, shortened, type_text

__all__ = ["node_html", "tree_html"]

_MOST_NODES = 200  # of a tree

_STYLE = """<style>
.omnizarr{font-family:var(--jp-ui-font-family,sans-serif);font-size:13px;line-height:1.45;max-width:56rem}
.omnizarr .oz-head{padding:2px 0 6px;margin-bottom:6px;border-bottom:1px solid;border-color:rgba(128,128,128,.45)}
.omnizarr .oz-kind{opacity:.65;margin-right:.6em}
.omnizarr .oz-row{display:flex;flex-wrap:wrap;gap:2rem;align-items:center}
.omnizarr table.oz-table{border-collapse:collapse;margin:0;font-size:13px}
.omnizarr table.oz-table tr{background:none}
.omnizarr table.oz-table th,.omnizarr table.oz-table td{padding:1px 1.2em 1px 0;text-align:left;vertical-align:top;
border:none;background:none;max-width:36rem;overflow-wrap:anywhere}
.omnizarr table.oz-table th{font-weight:normal;opacity:.65;white-space:nowrap}
.omnizarr details{margin:2px 0}
.omnizarr details details,.omnizarr details .oz-leaf{margin-left:1.2em}
.omnizarr .oz-leaf{padding-left:1.05em}
.omnizarr .oz-tree{margin-top:4px}
.omnizarr summary{cursor:pointer;display:list-item}
.omnizarr .oz-dim{opacity:.65;margin-left:.6em}
.omnizarr .oz-error{color:#d4483b;margin-left:.6em}
</style>"""


def node_html(node: Any) -> str:
    """An array or a group."""
    return _array_html(node) if hasattr(node, "shape") else _group_html(node)


def _array_html(array: Any) -> str:
    """An array: its table, a drawing of its chunks, and its attributes, folded."""
    model = array.metadata
    sharded = model.sharding is not None
    stored_shape = shape_text(model.grid.chunks)
    chunk_bytes = None
    if isinstance(array.chunks, tuple) and all(isinstance(length, int) for length in array.chunks):
        chunk_bytes = _product(array.chunks) * array.itemsize
    rows = [
        ("Shape", _tuple_text(array.shape)),
        ("Data type", escape(_type_text(array))),
        ("Size", human_bytes(array.nbytes)),
        ("Chunks", f"{_chunk_text(array.chunks if sharded else stored_shape)}{_dim(_amount(chunk_bytes))}"),
    ]
    if sharded:
        rows.append(("Shards", _chunk_text(stored_shape)))
    rows.append(("Number of chunks", digits(array.nchunks)))
    if array.dimension_names is not None:
        names = ", ".join("–" if name is None else name for name in array.dimension_names)
        rows.append(("Dimensions", escape(_short(names))))
    codecs = [*array.filters, array.serializer, *array.compressors]
    rows.append(("Codecs", escape(_short(" → ".join(str(codec.name) for codec in codecs)))))
    rows.append(("Fill value", "undefined" if model.fill is None else escape(_fill_text(array.fill_value))))
    rows.append(("Format", escape(_format_text(array.zarr_format))))
    rows.append(("Store", escape(_short(array.store.location))))
    drawing = chunk_drawing(model.grid.axes(model.shape), array.chunks if sharded else None, array.dimension_names)
    body = f'<div class="oz-row">{_table(rows)}<div>{drawing}</div></div>{_attributes(array)}'
    return _page("Array", array.name, body)


def _group_html(group: Any) -> str:
    """A group: its table, its members if consolidated metadata tells them, and its attributes, folded."""
    rows = [("Format", escape(_format_text(group.zarr_format))), ("Store", escape(_short(group.store.location)))]
    members = group._known_members()
    if members is None:
        rows.append(("Members", "not read yet: <code>group.tree()</code> shows them"))
        tree = ""
    else:
        tree = _tree(sorted(members, key=by_path))
        rows.append(("Members", str(sum("/" not in path for path, _ in members))))
    return _page("Group", group.name, f"{_table(rows)}{tree}{_attributes(group)}")


def tree_html(
    name: str,
    root: Any,
    members: Sequence[tuple[str, Any]],
    *,
    limit: int | None = _MOST_NODES,
    details: Callable[[Any], str] | None = None,
) -> str:
    """A tree whose groups fold, with at most `limit` nodes. `details` makes the text after the name of an array; by
    default, that is its shape and data type."""
    return _page(type(root).__name__, name, _tree(members, limit, details))


def _page(kind: str, name: str, body: str) -> str:
    head = f'<div class="oz-head"><span class="oz-kind">omnizarr.{kind}</span><b>{escape(_short(name))}</b></div>'
    return f'{_STYLE}<div class="omnizarr">{head}{body}</div>'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """A table of titles and HTML."""
    cells = "".join(f"<tr><th>{title}</th><td>{text}</td></tr>" for title, text in rows)
    return f'<table class="oz-table"><tbody>{cells}</tbody></table>'


def _attributes(node: Any) -> str:
    attributes: Mapping[str, Any] = node.attrs.asdict()
    if not attributes:
        return ""
    shown = islice(attributes.items(), MOST_ATTRIBUTES)
    rows = [(escape(_short(name)), escape(_json_text(value))) for name, value in shown]
    if len(attributes) > MOST_ATTRIBUTES:
        rows.append(("…", f"and {digits(len(attributes) - MOST_ATTRIBUTES)} more"))
    return f"<details><summary>Attributes ({len(attributes)})</summary>{_table(rows)}</details>"


def _tree(
    members: Sequence[tuple[str, Any]], limit: int | None = _MOST_NODES, details: Callable[[Any], str] | None = None
) -> str:
    """The members of a group, in the order of their paths: each group before its members."""
    shown = members[:limit]
    pieces: list[str] = []
    depth = 0
    for path, node in shown:
        name = _short(path.rpartition("/")[2])
        for _ in range(depth - path.count("/")):
            pieces.append("</details>")
        depth = path.count("/")
        if hasattr(node, "reason"):
            pieces.append(
                f'<div class="oz-leaf">{escape(name)}<span class="oz-error">{escape(_short(node.reason))}</span></div>'
            )
        elif hasattr(node, "shape"):
            shape_and_type = f"{_tuple_text(node.shape)} {escape(_type_text(node))}"
            texts = shape_and_type if details is None else escape(_short(details(node)))
            pieces.append(f'<div class="oz-leaf">{escape(name)}{_dim(texts)}</div>')
        else:
            opened = " open" if depth == 0 else ""
            pieces.append(f"<details{opened}><summary>{escape(name)}</summary>")
            depth += 1
    pieces.append("</details>" * depth)
    if len(members) > len(shown):
        pieces.append(f'<div class="oz-leaf">… and {digits(len(members) - len(shown))} more</div>')
    return f'<div class="oz-tree">{"".join(pieces)}</div>'


def _dim(text: str) -> str:
    return f'<span class="oz-dim">{text}</span>' if text else ""


def _amount(count: int | None) -> str:
    return "" if count is None else human_bytes(count)


def _product(lengths: Iterable[int]) -> int:
    product = 1
    for length in lengths:
        product *= length
    return product


def _tuple_text(lengths: Sequence[int]) -> str:
    return f"({', '.join(map(digits, lengths))}{',' * (len(lengths) == 1)})"


def _chunk_text(chunks: Any) -> str:
    if isinstance(chunks, tuple) and all(isinstance(length, int) for length in chunks):
        return _tuple_text(chunks)
    return escape(_short(str(chunks)))


def _type_text(array: Any) -> str:
    return _short(type_text(array.data_type))


def _fill_text(value: Any) -> str:
    if isinstance(value, (str, bytes)):  # in quotes; NumPy adds the name of its type
        return _short(repr(str(value) if isinstance(value, str) else bytes(value)))
    return _short(str(value))


def _format_text(zarr_format: Any) -> str:
    return f"Zarr {zarr_format}" if isinstance(zarr_format, int) else str(zarr_format)


def _json_text(value: Any) -> str:
    return _short(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))


def _short(text: str) -> str:
    """The text without what cannot be encoded, and not too long."""
    return shortened(text).encode("utf-8", "backslashreplace").decode()
