"""One file per library, with `write`, `read`, `describe` and, if it has groups, `create_group` and `consolidate`.
`UNSUPPORTED` holds the messages with which the library reports an unsupported feature."""
