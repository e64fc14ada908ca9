"""The questions of the viewer, by address: `/api/NAME?at=0&path=a/b&…`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnizarr import __version__
from omnizarr.errors import MetadataError, NodeTypeError, OmnizarrError, TooLargeError
from omnizarr.nodes import Array, Group
from omnizarr.serve.api.coordinates import coordinates
from omnizarr.serve.api.exports import check_export, export_response
from omnizarr.serve.api.grids import chunk_grid
from omnizarr.serve.api.nodes import describe_node, list_members
from omnizarr.serve.api.samples import SAMPLE_BYTES, sample
from omnizarr.serve.api.tables import check_table, table
from omnizarr.serve.api.windows import WindowRequest, memory_of, read_window, window_cost
from omnizarr.serve.messages import HttpError, HttpRequest, HttpResponse, json_response
from omnizarr.serve.mounts import Mount, Site
from omnizarr.tools.element_statistics import statistics
from omnizarr.tools.results import as_json
from omnizarr.tools.selections import Index, parse_selection
from omnizarr.tools.stored import stored_size

__all__ = ["api_response"]

_LONGEST_SELECTION = 2000  # characters
# Of a slice whose statistics a page may ask for. Absent chunks cost no reads, but time and memory.
_MOST_CHUNKS = 10**6
_MOST_BYTES = 2**36
_STATISTICS_BYTES = 2**27  # memory: they read a few chunks at a time, perhaps for minutes


@dataclass(frozen=True, slots=True)
class _Question:
    request: HttpRequest
    site: Site
    parameters: dict[str, str]

    @property
    def mount(self) -> Mount:
        number = self.integer("at", 0)
        if not 0 <= number < len(self.site.mounts):
            raise HttpError(404, f"there is no location {number}")
        return self.site.mounts[number]

    @property
    def path(self) -> str:
        return self.parameters.get("path", "").strip("/")

    @property
    def array(self) -> Array:
        node = self.mount.open(self.path)
        if not isinstance(node, Array):
            raise NodeTypeError(f"`{self.path}` is a group, not an array", path=self.path)
        return node

    @property
    def selection(self) -> Index:
        text = self.parameters.get("select", "...")
        if len(text) > _LONGEST_SELECTION:
            raise HttpError(400, "the selection is too long")
        return parse_selection(text)

    @property
    def confirmed(self) -> bool:
        return self.parameters.get("confirm") == "1"

    def integer(self, name: str, default: int) -> int:
        text = self.parameters.get(name, str(default))
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise HttpError(400, f"`{name}`: expected a number, found `{text[:40]}`")
        return int(text)


def api_response(request: HttpRequest, site: Site, name: str) -> HttpResponse:
    """The answer to a question. Errors are JSON, too: `error`, and `hint` if there is one."""
    answer = _ANSWERS.get(name)
    if answer is None:
        raise HttpError(404, "there is no such question")
    try:
        return answer(_Question(request, site, request.parameters()))
    except OmnizarrError as error:
        problems = [str(problem) for problem in error.problems] if isinstance(error, MetadataError) else []
        status = 404 if isinstance(error, KeyError) else 400
        return json_response({"error": error.message, "hint": error.hint, "problems": as_json(problems)}, status)


def _site(question: _Question) -> HttpResponse:
    locations = [
        {
            "name": mount.name or mount.node.basename or mount.node.store.location.rstrip("/").rpartition("/")[2],
            "location": _place(mount),
            "kind": "group" if isinstance(mount.node, Group) else "array",
        }
        for mount in question.site.mounts
    ]
    return json_response({"version": __version__, "locations": as_json(locations)})


def _place(mount: Mount) -> str:
    place = mount.node.store.location
    return f"{place.rstrip('/')}/{mount.node.path}" if mount.node.path else place


def _tree(question: _Question) -> HttpResponse:
    node = question.mount.open(question.path)
    return json_response(as_json(list_members(node)))


def _node(question: _Question) -> HttpResponse:
    return json_response(as_json(describe_node(question.mount, question.path)))


def _window(question: _Question) -> HttpResponse:
    window = WindowRequest(
        question.array, question.selection, question.parameters.get("type", "f4"), question.parameters.get("part", "")
    )
    return read_window(window, question.site.memory, confirmed=question.confirmed)


def _cost(question: _Question) -> HttpResponse:
    return json_response(as_json(window_cost(question.array, question.selection)))


def _if_confirmed(question: _Question, answer: Callable[[], HttpResponse], most: int | None = None) -> HttpResponse:
    """The answer; but 409 with the cost if it reads much, and the user has not confirmed it. Few elements can cost
    much: they can lie in large chunks. `most` is an upper limit of the memory that the answer takes."""
    cost = window_cost(question.array, question.selection)
    if cost.needs_confirmation and not question.confirmed:
        return json_response({"needs_confirmation": True, "cost": as_json(cost)}, 409)
    size = memory_of(question.array, cost)
    return question.site.memory.make(size if most is None else min(size, most), answer)


def _table(question: _Question) -> HttpResponse:
    check_table(question.array, question.selection)
    return _if_confirmed(question, lambda: json_response(as_json(table(question.array, question.selection))))


def _sample(question: _Question) -> HttpResponse:
    part = question.parameters.get("part", "")
    return question.site.memory.make(
        SAMPLE_BYTES, lambda: json_response(as_json(sample(question.array, question.selection, part)))
    )


def _coordinates(question: _Question) -> HttpResponse:
    return json_response(as_json(coordinates(question.mount, question.path, question.integer("dimension", 0))))


def _chunks(question: _Question) -> HttpResponse:
    return json_response(as_json(chunk_grid(question.array, question.selection)))


def _statistics(question: _Question) -> HttpResponse:
    array = question.array
    cost = window_cost(array, question.selection)
    if cost.chunks > _MOST_CHUNKS or cost.selected_bytes > _MOST_BYTES:
        message = f"the slice has {cost.selected_bytes:,} bytes in {cost.chunks:,} chunks, too many for a page"
        raise TooLargeError(message, hint="use `omnizarr info --stats`")
    return _if_confirmed(
        question, lambda: json_response(as_json(statistics(array, question.selection))), _STATISTICS_BYTES
    )


def _stored(question: _Question) -> HttpResponse:
    return json_response(as_json(stored_size(question.array)))


def _export(question: _Question) -> HttpResponse:
    form = question.parameters.get("format", "npy")
    check_export(question.array, question.selection, form)
    return _if_confirmed(question, lambda: export_response(question.array, question.selection, form))


_ANSWERS: dict[str, Callable[[_Question], HttpResponse]] = {
    "site": _site,
    "tree": _tree,
    "node": _node,
    "window": _window,
    "cost": _cost,
    "table": _table,
    "sample": _sample,
    "coordinates": _coordinates,
    "chunks": _chunks,
    "statistics": _statistics,
    "stored": _stored,
    "export": _export,
}
