"""One file per library that can be asked: `write`, `read`, `describe` and, where it has groups, `create_group` and
`consolidate`; `UNSUPPORTED` holds the words with which it says that it does not know something."""
