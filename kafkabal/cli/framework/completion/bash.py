"""The completion script for bash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.completion.option_values import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkabal.cli.framework.completion.command_pages import Page
    from kafkabal.cli.framework.completion.option_values import Values

_HEAD = """\
# bash completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Topics and brokers come from files that every command refreshes: no cluster is asked, no Python is started.

_kafkabal_names() {
    cat "${XDG_CACHE_HOME:-$HOME/.cache}/kafkabal/$1" 2>/dev/null
}

_kafkabal() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=kafkabal words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$command ${COMP_WORDS[i]}" in
            """
_AFTER_COMMANDS = """)
                command="$command ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$command $previous" in
"""
_AFTER_VALUES = """\
    esac
    case "$command" in
"""
_TAIL = """\
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o default -F _kafkabal kafkabal
"""


def script(pages: Sequence[Page]) -> str:
    """The text of ``completions/kafkabal.bash``."""
    commands = " | \\\n            ".join(f'"{page.title}"' for page in pages[1:])
    return "".join([_HEAD, commands, _AFTER_COMMANDS, *_values(pages), _AFTER_VALUES, *_words(pages), _TAIL])


def _values(pages: Sequence[Page]) -> Iterator[str]:
    """What follows an option with a value; an empty reply makes readline offer the names of files."""
    for page in pages:
        for option in page.options:
            if option.metavar:
                patterns = " | ".join(f'"{page.title} {flag}"' for flag in option.flags)
                words = _list(option.values)
                reply = f'COMPREPLY=($(compgen -W "{words}" -- "$current")); return' if words else "return"
                yield f"        {patterns}) {reply} ;;\n"


def _words(pages: Sequence[Page]) -> Iterator[str]:
    for page in pages:
        words = [*page.commands, *(flag for option in page.options for flag in option.flags)]
        words += [listed for argument in page.arguments if (listed := _list(argument.values))]
        yield f'        "{page.title}") words="{" ".join(words)}" ;;\n'


def _list(values: Values) -> str:
    if values.source is Source.WORDS:
        return " ".join(values.words)
    return f"$(_kafkabal_names {values.source})" if values.source in (Source.TOPICS, Source.BROKERS) else ""
