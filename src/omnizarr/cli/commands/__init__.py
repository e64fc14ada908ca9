"""The subcommands of `omnizarr`: each module has a click `command`, and imports the library when the command runs."""
