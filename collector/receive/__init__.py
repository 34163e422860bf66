"""What takes spans in over OTLP/HTTP, judges them, and answers questions about what is stored."""
