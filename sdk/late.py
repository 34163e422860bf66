"""Imports that the start of an agent does not wait for, on the thread that needs them."""

from __future__ import annotations

import os
import threading

late_imports = threading.Lock()
"""Held while a thread of ours imports, or works on one note, the first of which load rules and checkers; never for an export.

A fork waits for it: its child would find modules half made, and locked by a thread that it has not.
"""
os.register_at_fork(before=late_imports.acquire, after_in_parent=late_imports.release, after_in_child=late_imports.release)
