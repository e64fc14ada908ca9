"""The tables and the chart of the benchmarks show the measured figures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from benchmarks import report
from benchmarks.chart import svg

CELLS = {
    "raw_128": {"omnizarr": 0.1, "tensorstore": 0.25, "zarr": 0.2, "limit": 0.08},
    "gzip_128": {"omnizarr": 0.5, "tensorstore": None, "zarr": None, "limit": None},
}


def test_a_table_has_the_best_peer_and_the_limit() -> None:
    lines = report.table("read", CELLS).splitlines()
    assert lines[0] == "### Read everything (ms)"
    assert lines[2] == "|  | omnizarr | tensorstore | zarr | limit | best peer / omnizarr | omnizarr / limit |"
    assert lines[4] == "| raw_128 | 100 | 250 | 200 | 80 | 2.00 | 1.25 |"
    assert lines[5] == "| gzip_128 | 500 | – | – | – | – | – |"


def test_tables_show_the_promise_for_memory_and_the_ratio_to_zarr_python() -> None:
    memory = report.table("memory", {"read": {"omnizarr": 2.0**20, "zarr": 2.0**22, "promise": 2.0**21}})
    assert memory.splitlines()[-1] == "| read | 1 | 4 | 2 | 4.00 | 0.50 |"
    many = report.table("many", {"create": {"omnizarr": 0.1, "zarrista": 0.05, "zarr": 0.6}})
    assert many.splitlines()[-1] == "| create | 100 | 50 | 600 | 0.50 | 6.00 |"


def test_the_chart_is_svg_with_a_dot_for_each_figure_of_a_peer() -> None:
    drawn = ElementTree.fromstring(svg({"Read <everything>": CELLS}, "omnizarr", ("limit", "promise")))
    titles = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(titles) == ["tensorstore", "tensorstore: 2.50", "zarr", "zarr: 2.00"]
    assert "Read <everything>" in [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
