"""Checks the built site: every link and anchor leads somewhere, nothing is loaded from the network, and every public
name of omnizarr has an entry in the reference.

    python docs/theme/check_site.py site
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}
"""The attribute of an element whose address a browser loads at once. So does a `link`, except for the `RELATIONS`."""
RELATIONS = {"canonical", "prev", "next", "edit", "alternate"}

MODULES = ("", ".aio", ".codecs", ".compat", ".errors", ".extending", ".integrations.xarray", ".serve", ".store")
MODULES = (*MODULES, ".testing", ".tools")


class Page(HTMLParser):
    """The links, the anchors and the loaded addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.asks_for_stars = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.asks_for_stars |= values.get("data-md-component") == "source"
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        address = values.get(LOADED.get(tag, ""))
        if tag == "link" and not RELATIONS & set(values.get("rel", "").split()):
            address = values.get("href")
        if address:
            self.loaded.append(address)


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the site, one line each."""
    pages = {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for name, page in pages.items():
        if page.asks_for_stars:
            yield f"{name}: the script of the theme asks api.github.com for the stars of the repository"
        if name == "404.html":  # its links are absolute, for a page of any depth
            continue
        for address in page.loaded:
            if urlsplit(address).scheme not in ("", "data"):
                yield f"{name}: loads {address}"
            elif not urlsplit(address).scheme and not file_of(site, name, address).exists():
                yield f"{name}: {address} does not exist"
        for link in page.links:
            if urlsplit(link).scheme or not link:
                continue
            target, anchor = urldefrag(link)
            path = file_of(site, name, target) if target else site / name
            if path.is_dir():
                path /= "index.html"
            if not path.exists():
                yield f"{name}: {link} does not exist"
            elif anchor and path.suffix == ".html":
                there = pages[path.relative_to(site).as_posix()]
                if unquote(anchor) not in there.anchors:
                    yield f"{name}: {link} has no such anchor"
    anchors = {anchor for name, page in pages.items() if name.startswith("reference/") for anchor in page.anchors}
    described = {id(value) for name, value in public_names() if name in anchors}
    for name, value in public_names():
        if name not in anchors and id(value) not in described:
            yield f"reference: {name} has no entry"
    for file in ("llms.txt", "llms-full.txt", "search/search_index.json"):
        if not (site / file).exists():
            yield f"{file} does not exist"


def file_of(site: Path, page: str, address: str) -> Path:
    """The file of an address on a page."""
    return site / unquote(urlsplit(urljoin(f"http://site/{page}", address)).path).lstrip("/")


def public_names() -> Iterator[tuple[str, object]]:
    """The names of the public modules, and their values."""
    for module in MODULES:
        loaded = importlib.import_module(f"omnizarr{module}")
        for name in loaded.__all__:
            if not name.startswith("__") and f".{name}" not in MODULES:
                yield f"{loaded.__name__}.{name}", getattr(loaded, name)


def main() -> None:
    found = list(problems(Path(sys.argv[1])))
    print(*found, sep="\n" if found else "")
    if found:
        sys.exit(f"{len(found)} problems")


if __name__ == "__main__":
    main()
