"""The completion script for fish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.completion.option_values import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkabal.cli.framework.completion.command_pages import Option, Page
    from kafkabal.cli.framework.completion.option_values import Values

_HEAD = """\
# fish completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Topics and brokers come from files that every command refreshes: no cluster is asked, no Python is started.

function __kafkabal_names
    set -l cache $XDG_CACHE_HOME
    test -n "$cache"; or set cache $HOME/.cache
    cat $cache/kafkabal/$argv[1] 2>/dev/null
end

# whether the words typed so far lead to exactly this command
function __kafkabal_at
    set -l found kafkabal
    for word in (commandline -opc)[2..-1]
        contains -- "$found $word" $__kafkabal_commands; and set found "$found $word"
    end
    test "$found" = "$argv"
end

set -g __kafkabal_commands \\
"""


def script(pages: Sequence[Page]) -> str:
    """The text of ``completions/kafkabal.fish``."""
    commands = " \\\n".join(f"    {_quoted(page.title)}" for page in pages[1:])
    return "".join(
        [_HEAD, commands, "\n\ncomplete -c kafkabal -f\n", *(line for page in pages for line in _lines(page))]
    )


def _lines(page: Page) -> Iterator[str]:
    at = f"complete -c kafkabal -n {_quoted(f'__kafkabal_at {page.title}')}"
    yield "\n"
    for name, help_text in page.commands.items():
        yield f"{at} -a {name} -d {_quoted(help_text)}\n"
    for argument in page.arguments:
        if words := _words(argument.values):
            yield f"{at}{words}\n"
    for option in page.options:
        yield f"{at} {_flags(option)}{_value(option)} -d {_quoted(option.help)}\n"


def _flags(option: Option) -> str:
    return " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)


def _value(option: Option) -> str:
    if not option.metavar:
        return ""
    # without -f, fish offers files beside the words
    return f" -r{'' if option.values.source is Source.FILES else ' -f'}{_words(option.values)}"


def _words(values: Values) -> str:
    match values.source:
        case Source.WORDS:
            return f" -a {_quoted(' '.join(values.words))}"
        case Source.FILES:
            return " -F"
        case Source.TOPICS | Source.BROKERS:
            return f" -a {_quoted(f'(__kafkabal_names {values.source})')}"
        case _:
            return ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
