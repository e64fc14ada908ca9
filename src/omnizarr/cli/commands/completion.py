"""`omnizarr completion`: prints a script that makes a shell complete commands, options and locations."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that makes SHELL complete commands, options and locations.

    \b
    Examples:
      omnizarr completion bash > ~/.local/share/bash-completion/completions/omnizarr
      omnizarr completion zsh > ~/.zfunc/_omnizarr
      omnizarr completion fish > ~/.config/fish/completions/omnizarr.fish

    zsh looks in the directories of $fpath; bash needs version 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    from omnizarr.cli.program import program

    complete = get_completion_class(shell)
    assert complete is not None
    script = complete(program, {}, "omnizarr", "_OMNIZARR_COMPLETE")
    click.echo(script.source_template % script.source_vars())  # `source()` also starts bash, to check its version
