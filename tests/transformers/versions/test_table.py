"""The table of a version against a dict, and the number of its pages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.transformers.versions import table as tables
from omnizarr.transformers.versions.records import PageRef, ValueRef, dump_page, parse_page
from omnizarr.transformers.versions.table import PAGE, Table


class Pages:
    """Stores pages, as commits do, and counts how many."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.table = Table((), self.load)

    def load(self, page: PageRef) -> dict[str, ValueRef]:
        return parse_page(self.data[page.name], page, "page", 2**30)

    def change(self, changes: dict[str, ValueRef | None]) -> int:
        refs: list[PageRef] = []
        new = 0
        for page in self.table.changed(changes):
            if not isinstance(page, PageRef):
                entries, page = page, PageRef(next(iter(page)), f"{len(self.data):024x}", len(page))
                self.data[page.name] = dump_page(entries)
                new += 1
            refs.append(page)
        self.table = Table(refs, self.load)
        return new


def ref(number: int) -> ValueRef:
    return ValueRef(f"20260101T000000000000Z-{0:016x}/{number:024x}", number)


KEYS = st.lists(st.integers(0, 99), min_size=1, max_size=2).map(lambda numbers: "/".join(["c", *map(str, numbers)]))
CHANGES = st.dictionaries(KEYS, st.one_of(st.none(), st.integers(0, 9).map(ref)), max_size=60)


@given(st.lists(CHANGES, max_size=8), st.sampled_from([2, 4, 7, 16]))
def test_a_table_is_a_dict(steps: list[dict[str, ValueRef | None]], size: int) -> None:
    before, tables.PAGE = tables.PAGE, size
    try:
        pages, expected = Pages(), dict[str, ValueRef]()
        for changes in steps:
            pages.change(changes)
            expected |= {key: value for key, value in changes.items() if value is not None}
            for key in [key for key, value in changes.items() if value is None]:
                expected.pop(key, None)
            table = pages.table
            assert dict(table.items()) == expected
            assert [key for key, _ in table.items()] == sorted(expected)
            assert all(0 < page.length <= size for page in table.pages)
            assert sum(page.length for page in table.pages) == len(expected)
            for key in [*expected, "c", "c/", "a", "z", "c/5/5", ""]:
                assert table.get(key) == expected.get(key)
            for prefix in ("", "c/", "c/1/", "c/9/", "b/", "d/"):
                assert [key for key, _ in table.items(prefix)] == sorted(k for k in expected if k.startswith(prefix))
    finally:
        tables.PAGE = before


def test_a_small_change_writes_few_pages() -> None:
    pages = Pages()
    assert pages.change({f"c/{number}": ref(number) for number in range(20_000)}) == -(-20_000 // PAGE)
    assert pages.change({"c/777": ref(0)}) == 1
    assert pages.change({f"c/{number}": None for number in range(20_000)}) == 0
    assert pages.table.pages == ()


def test_erasing_does_not_leave_many_small_pages() -> None:
    pages = Pages()
    pages.change({f"c/{number:05}": ref(number) for number in range(10 * PAGE)})
    for start in range(0, 10 * PAGE, 64):
        pages.change({f"c/{number:05}": None for number in range(start, start + 60)})
    assert sum(page.length for page in pages.table.pages) == 10 * PAGE // 64 * 4
    assert len(pages.table.pages) <= 4
