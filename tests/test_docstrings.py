"""Names in docstrings: a name between backticks, such as `config` or `Store.lock`, exists."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import sys

from tests.test_architecture import PACKAGE, modules, tree

NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?`")
WORD = re.compile(r"\w+")
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
C_NAME = re.compile(r"#define (\w+)|\b(\w+)\(|\"(\w+)\"")  # of macros, of functions, and for Python

NOT_OURS: dict[str, str] = {
    "Delayed": "a class of dask",
    "Generator": "a class of NumPy",
    "GetResult": "a class of obstore",
    "Host": "a field of HTTP requests",
    "S12": "a type of NumPy",
    "SharedMemory": "a class of `multiprocessing`",
    "a__b": "the form of the name of a setting",
    "arr_0": "a name that NumPy gives",
    "arr_1": "a name that NumPy gives",
    "c.1.23": "a key",
    "c1.23": "a key",
    "ds.load": "a method of a dataset of xarray",
    "ds.omnizarr": "an accessor of a dataset of xarray",
    "phony_dim_0": "a name that netCDF gives",
    "r16": "a data type",
    "r24": "a data type",
    "r8": "a data type",
}
"""Names in docstrings that the package does not define, and what they are."""


class Names:
    """The names of one module: `everywhere` those that docstrings of all modules may use, `here` only its own."""

    def __init__(self, module: ast.Module) -> None:
        statements = (node.value for node in ast.walk(module) if isinstance(node, ast.Expr))
        docstrings = {id(value): value.value for value in statements if isinstance(value, ast.Constant)}
        self.docstrings = [text for text in docstrings.values() if isinstance(text, str)]
        self.everywhere: set[str] = set()
        self.here: set[str] = set()
        for node in module.body:
            if isinstance(node, ast.Assign):
                self.everywhere.update(target.id for target in node.targets if isinstance(target, ast.Name))
        for node in ast.walk(module):
            match node:
                case ast.Constant(value=bytes(text)):
                    self.here.update(WORD.findall(text.decode("latin-1")))
                case ast.Constant(value=str(text)) if id(node) not in docstrings:
                    (self.everywhere if re.fullmatch(r"[\w./-]+", text) else self.here).update(WORD.findall(text))
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.everywhere.add(name)
                case ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                    self.everywhere.add(name)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    self.everywhere.add(name)
                case ast.Name(id=name):
                    self.here.add(name)
                case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                    self.here.update(word for alias in aliases for word in WORD.findall(alias.asname or alias.name))
                    self.here.update(WORD.findall(getattr(node, "module", None) or ""))


def missing(names: dict[str, Names], known: set[str]) -> dict[str, set[str]]:
    """The names in docstrings of each module that neither it nor another one defines."""
    everywhere = known.union(*(module.everywhere for module in names.values()))
    unknown = {
        path: {
            name
            for text in module.docstrings
            for name in NAME.findall(text)
            if not everywhere.issuperset(set(name.split(".")) - module.here)
        }
        for path, module in names.items()
    }
    return {path: found for path, found in unknown.items() if found}


def test_missing_names_are_found() -> None:
    first = Names(ast.parse('"""Uses `f`, `b` and `g`."""\ndef f(a, b):\n    """`c` and `a.c`."""\n    c = b\n'))
    second = Names(ast.parse('"""Uses `f(a)`, `f()`, `b`, `c` and `d`."""\ne = "d is a word"\n'))
    assert missing({"first": first, "second": second}, set()) == {"first": {"g"}, "second": {"c"}}


def test_names_in_docstrings_exist() -> None:
    known = {*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names}
    for path in (*PACKAGE.rglob("*.c"), *PACKAGE.rglob("*.h")):
        code = C_COMMENT.sub("", path.read_text(encoding="utf-8"))
        known.update(name for names in C_NAME.findall(code) for name in names)
    files = {path.relative_to(PACKAGE).as_posix(): path for path in modules().values()}
    known.update(word for name in files for word in WORD.findall(name))
    unknown = missing({name: Names(tree(path)) for name, path in files.items()}, known)
    assert {name: new for name, words in unknown.items() if (new := words - NOT_OURS.keys())} == {}
    assert NOT_OURS.keys() - set().union(*unknown.values()) == set(), "remove them from the list"
