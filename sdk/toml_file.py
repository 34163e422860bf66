"""Reads a TOML file of settings; whatever its reader does not understand is an error that names the file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from toolwitness.model.exceptions import SettingsError

Read = TypeVar("Read")


def read_toml(path: str | os.PathLike[str], kind: str, read: Callable[[Mapping[str, Any]], Read]) -> Read:
    """What `read` makes of the file's content; it raises ValueError where something is not as it should be.

    Raises SettingsError, which names the `kind` of the file and its path.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{kind} {path} cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{kind} {path} is no TOML: {error}") from error
    try:
        return read(data)
    except ValueError as error:
        raise SettingsError(f"{kind} {path}: {error}") from error
