"""Records of what an agent's tool calls did, the rules that judge them, and their names on the wire."""
