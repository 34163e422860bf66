"""Finds the tools of a Python module or file, those decorated with `@toolwitness.tool`, by importing it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.catalog_file import Catalog, CatalogTool, identity
from toolwitness.model.exceptions import BrokenFileError, UnknownFormatError
from toolwitness.sdk import setup
from toolwitness.sdk.signature import signature_schema, structure
from toolwitness.sdk.toolfunction import ToolFunction, definition_of

__all__ = ["load_module", "read_module"]

_OFF = "OTEL_SDK_DISABLED"


def read_module(name: str) -> Catalog:
    """The decorated tools of a module, `package.module` or `path/to/file.py`, of its classes and its sub-modules.

    The module is imported, which runs its code; what it prints goes to standard error, and it records nothing meanwhile.
    A tool without `input_schema` gets one made from its signature, of names and types alone: the recorder does not have that
    schema, so classes in it would count for nothing; they are left in `CatalogTool.unread`.

    Raises BrokenFileError where it cannot be imported, UnknownFormatError where it holds no decorated tool.
    """
    before = {identity(definition) for definition in setup.declared()}
    with _quiet(_folder(name)):
        module = _import(name)
        found = {identity(definition): tool for definition, tool in _tools(module)}
    for definition in setup.declared():
        if identity(definition) not in before:  # decorated inside a function: known by its definition alone
            found.setdefault(identity(definition), CatalogTool(definition))
    if not found:
        raise UnknownFormatError(f"{name} holds no tool: no function in it is decorated with @toolwitness.tool")
    derived = [tool for tool in found.values() if isinstance(tool.unread, dict)]
    note = f"{len(derived)} without input_schema: fields are those of the signature; declare them by @tool(classes=...)"
    return Catalog(tuple(found.values()), (note,) if derived else ())


def load_module(name: str) -> None:
    """Import a module, `package.module` or `path/to/file.py`, for what its code registers; as quietly as `read_module`.

    Raises BrokenFileError where it cannot be imported.
    """
    with _quiet(_folder(name)):
        _import(name)


def _folder(name: str) -> Path:
    """Where a module is looked for first: the working directory, or what holds a file or the package that it is in."""
    if not name.endswith(".py"):
        return Path.cwd()
    folder = Path(name).resolve().parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


@contextmanager
def _quiet(folder: Path) -> Iterator[None]:
    """Import from a folder, without recording and without printing among our own answers."""
    before = os.environ.get(_OFF)
    os.environ[_OFF] = "true"
    sys.path.insert(0, str(folder))
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path.remove(str(folder))
        if before is None:
            del os.environ[_OFF]
        else:
            os.environ[_OFF] = before


def _import(name: str) -> ModuleType:
    try:
        return _import_file(Path(name).resolve()) if name.endswith(".py") else importlib.import_module(name)
    except (Exception, SystemExit) as error:  # someone else's module may raise anything; it is told, not swallowed
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = "" if "importlib" in frame.filename else f" ({frame.filename}, line {frame.lineno})"
        raise BrokenFileError(f"{name} cannot be imported: {type(error).__name__}: {error}{place}") from error


def _import_file(path: Path) -> ModuleType:
    """A file as part of its package, if it is in one, else by itself under a name that no other module has."""
    dotted = ".".join(path.relative_to(_folder(str(path))).with_suffix("").parts)
    if "." in dotted:
        return importlib.import_module(dotted.removesuffix(".__init__"))
    spec = importlib.util.spec_from_file_location(f"toolwitness_checked_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tools(module: ModuleType) -> Iterator[tuple[ToolDefinition, CatalogTool]]:
    below = f"{module.__name__}."
    for one in [module, *(found for name, found in list(sys.modules.items()) if name.startswith(below))]:
        for value in list(vars(one).values()):
            if type(value) is ToolFunction:
                yield from _tool(value, in_class=False)
            elif isinstance(value, type) and value.__module__ == one.__name__:
                for member in list(vars(value).values()):
                    is_tool = type(member) is ToolFunction
                    yield from _tool(member if is_tool else getattr(member, "__func__", None), in_class=True)


def _tool(item: object, *, in_class: bool) -> Iterator[tuple[ToolDefinition, CatalogTool]]:
    definition = definition_of(item)
    if definition is None or type(item) is not ToolFunction:
        return
    if definition.input_schema is not None:
        yield definition, CatalogTool(definition)
        return
    function = getattr(item.__wrapped__, "__func__", item.__wrapped__)
    schema = signature_schema(function, in_class=in_class)
    yield definition, CatalogTool(replace(definition, input_schema=structure(schema)), unread={"signature": schema})
