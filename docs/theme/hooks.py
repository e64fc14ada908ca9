"""What `make docs` adds to MkDocs: pages made from other files, links to files outside docs/, and `llms.txt`.

MkDocs calls the functions `on_*`. Their source pages read well on the site that hosts the source, too: links there lead
to files of the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

PROJECT = {
    "CHANGELOG.md": "Changelog",
    "ROADMAP.md": "Roadmap",
    "ARCHITECTURE.md": "Architecture",
    "CONTRIBUTING.md": "Contributing",
    "CORRECTNESS.md": "Correctness",
    "SECURITY.md": "Security",
    "CODE_OF_CONDUCT.md": "Code of conduct",
}
"""Pages of the root of the repository, with their titles. The site shows them in the section `project`."""

_LINK = re.compile(r"(\]\(|<img src=\")([^)\s\"]+)")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The pages of the commands, in the order of `omnizarr --help`."""
    from omnizarr.cli.program import COMMANDS

    return [f"cli/{name}.md" for section in COMMANDS.values() for name in section]


def expanded(entries: list[Any]) -> list[Any]:
    """The navigation with the pages for `cli/*` and `project/*`."""
    result: list[Any] = []
    for entry in entries:
        if entry == "cli/*":
            result += [{Path(page).stem: page} for page in commands()]
        elif entry == "project/*":
            result += [{title: project_page(name)} for name, title in PROJECT.items()]
        elif isinstance(entry, dict):
            result.append({title: expanded(of) if isinstance(of, list) else of for title, of in entry.items()})
        else:
            result.append(entry)
    return result


def project_page(name: str) -> str:
    """The page of the site for a file of the root of the repository."""
    return f"project/{name.lower().replace('_', '-')}"


def with_links_of_the_site(text: str, page: str, repository: str) -> str:
    """The text of a page whose links to files outside docs/ lead to a page of the site, or to the repository.

    `page` is the path in the site. The links of a page of `PROJECT` are relative to the root of the repository.
    """
    source = next((name for name in PROJECT if project_page(name) == page), f"docs/{page}")

    def replace(match: re.Match[str]) -> str:
        target, mark, anchor = match[2].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if file in PROJECT:
            there = posixpath.relpath(project_page(file), posixpath.dirname(page) or ".")
        elif file.startswith("docs/") and not file.endswith((".py", ".json", ".toml")):
            there = posixpath.relpath(file.removeprefix("docs/"), posixpath.dirname(page) or ".")
        else:
            there = f"{repository}/{'tree' if (ROOT / file).is_dir() else 'blob'}/main/{file}"
        return f"{match[1]}{there}{mark}{anchor}"

    parts = _FENCE.split(text)  # code at the odd places
    parts[::2] = [_LINK.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def on_config(config: Any) -> Any:
    """List the pages that are made."""
    config["nav"] = expanded(config["nav"])
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root of the repository."""
    from mkdocs.structure.files import File  # lazy import: the tests of the links need no MkDocs

    for name in PROJECT:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, project_page(name), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Correct the links, and give the whole width to the home page."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    return with_links_of_the_site(markdown, page.file.src_uri, config["repo_url"])


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Leave out the mark that makes the script of the theme ask api.github.com for the stars of the repository."""
    return output.replace(' data-md-component="source"', "")


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same in `404.html`, which is a template."""
    return output_content.replace(' data-md-component="source"', "")


def on_post_build(config: Any) -> None:
    """Write `llms.txt`, a table of contents for language models, and `llms-full.txt`, the text of all pages."""
    titles = dict(pages_of(config["nav"]))
    short = [f"# {config['site_name']}", f"> {config['site_description']}"]
    full = list(short)
    for section in config["nav"]:
        (title, content), *_ = section.items()
        lines = []
        for name, page in pages_of(content if isinstance(content, list) else [section]):
            text = source(page)
            address = config["site_url"] + page.removesuffix("index.md").removesuffix(".md")
            address = address if address.endswith("/") else f"{address}/"
            lines.append(f"- [{name}]({address}): {summary(text)}")
            full.append(f"<!-- {address} -->\n\n{text.strip()}")
        short.append(f"## {title}\n\n" + "\n".join(lines))
    assert len(titles) > 20
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text("\n\n".join(short) + "\n", encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(full) + "\n", encoding="utf-8")


def pages_of(entries: list[Any]) -> Iterator[tuple[str, str]]:
    """The title and the path of each page of a navigation."""
    for entry in entries:
        for title, content in entry.items():
            if isinstance(content, list):
                yield from pages_of(content)
            else:
                yield title, content


def source(page: str) -> str:
    """The text of a page."""
    name = next((name for name in PROJECT if project_page(name) == page), f"docs/{page}")
    return (ROOT / name).read_text(encoding="utf-8")


def summary(text: str) -> str:
    """The first sentence of a page, without its links."""
    paragraphs = [part for part in _FENCE.sub("", text).split("\n\n") if part.strip()]
    prose = next((part for part in paragraphs if not part.lstrip().startswith(("#", "<", "|", "-", ":::"))), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.:])\s", plain)[0]
