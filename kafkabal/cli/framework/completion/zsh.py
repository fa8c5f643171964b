"""The completion script for zsh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.completion.option_values import CompletionKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkabal.cli.framework.completion.command_pages import Option, Page
    from kafkabal.cli.framework.completion.option_values import Values

_HEAD = """\
#compdef kafkabal
# zsh completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Commands, options and fixed words are in this file; names (topics, profiles, ...) come from kafkabal itself.

# the last argument says which names; those before it are for compadd
_kafkabal_names() {
    local -a names asked
    local i word
    for ((i = 2; i < CURRENT; i++)); do
        word=${(Q)words[i]}
        case $word in
            -b|--bootstrap-server|--command-config|--profile|--snapshot|--zookeeper|--name)
                ((i + 1 < CURRENT)) && asked+=($word ${(Q)words[i + 1]}) ;;
            --bootstrap-server=*|--command-config=*|--profile=*|--snapshot=*|--zookeeper=*|--name=*)
                asked+=($word) ;;
            *)
                [[ -f $word ]] && asked+=(--plan $word) ;;
        esac
    done
    names=(${(f)"$(kafkabal completion candidates $argv[-1] $asked 2>/dev/null </dev/null)"})
    compadd "${(@)argv[1,-2]}" -a names
}

# the same after what was typed up to the last comma
_kafkabal_list() {
    compset -P '*,'
    local -a listed
    listed=(${(s:,:)${IPREFIX#*=}})
    _kafkabal_names -F listed "$@"
}
"""
_TAIL = """
if [ "$funcstack[1]" = _kafkabal ]; then
    _kafkabal "$@"
else
    compdef _kafkabal kafkabal
fi
"""


def script(pages: Sequence[Page]) -> str:
    """The text of ``completions/_kafkabal``."""
    return "".join([_HEAD, *(_function(page) for page in pages), _TAIL])


def _function(page: Page) -> str:
    name = _function_name(page.path)
    arguments = [*(_option(option) for option in page.options), *(_argument(argument) for argument in page.arguments)]
    if not page.commands:
        return f"\n{name}() {{\n    _arguments -s \\\n{_lines(arguments)}\n}}\n"
    arguments += ["'1: :->command'", "'*:: :->arguments'"]
    return (
        f"\n{name}() {{\n    local context state state_descr line\n    typeset -A opt_args\n"
        f"    _arguments -A '-*' -C -s \\\n{_lines(arguments)}\n"
        f"    case $state in\n        command)\n            local -a commands=(\n{_commands(page)}            )\n"
        f"            _describe command commands ;;\n        arguments)\n            case $line[1] in\n"
        f"{''.join(_dispatch(page))}            esac ;;\n    esac\n}}\n"
    )


def _lines(arguments: list[str]) -> str:
    return " \\\n".join(f"        {argument}" for argument in arguments)


def _commands(page: Page) -> str:
    return "".join(f"                {_quoted(f'{name}:{help_text}')}\n" for name, help_text in page.commands.items())


def _dispatch(page: Page) -> Iterator[str]:
    for name in page.commands:
        yield f"                {name}) {_function_name((*page.path, name))} ;;\n"


def _function_name(path: Sequence[str]) -> str:
    return "_" + "_".join(path).replace("-", "_")


def _option(option: Option) -> str:
    text = f"[{_escaped(option.help)}]" + (
        f":{_escaped(option.metavar)}:{_action(option.values)}" if option.metavar else ""
    )
    many = "\\*" if option.repeated else ""
    # with a trailing equals sign, the value may be in the same word: --by=topic
    flags = [f"{flag}=" if option.metavar and flag.startswith("--") else flag for flag in option.flags]
    if len(flags) == 1:
        return (many and "'*'") + flags[0] + _quoted(text)
    excluded = "'*'" if option.repeated else f"'({' '.join(option.flags)})'"
    return excluded + "{" + ",".join(flags) + "}" + _quoted(text)


def _argument(argument: Option) -> str:
    return _quoted(f"{'*' if argument.repeated else ''}:{_escaped(argument.metavar)}:{_action(argument.values)}")


def _action(values: Values) -> str:
    if values.is_dynamic:
        # the blank keeps _arguments from inserting its own options before the name
        return f" {'_kafkabal_list' if values.is_list else '_kafkabal_names'} {values.kind}"
    match values.kind:
        case CompletionKind.WORDS:
            return f"({_escaped(' '.join(values.words))})"
        case CompletionKind.FILES:
            return "_files"
        case _:
            return " "


def _escaped(text: str) -> str:
    for sign in "\\[]:":
        text = text.replace(sign, "\\" + sign)
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
