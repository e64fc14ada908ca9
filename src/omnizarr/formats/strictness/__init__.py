"""What parsers accept in silence although a rule forbids it or advises against it. One module per generation."""
