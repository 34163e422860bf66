"""One page a file; each draws itself in `draw()`."""
