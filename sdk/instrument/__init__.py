"""Recording agents of other people's frameworks: one module a framework, and what these share."""
