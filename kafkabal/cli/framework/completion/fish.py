"""The completion script for fish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.completion.option_values import CompletionKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkabal.cli.framework.completion.command_pages import Option, Page
    from kafkabal.cli.framework.completion.option_values import Values

_HEAD = r"""# fish completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Commands, options and fixed words are in this file; names (topics, profiles, ...) come from kafkabal itself.

# the command that the words typed so far lead to, and how many arguments follow it
function __kafkabal_place
    set -l found kafkabal
    set -l arguments 0
    set -l is_value 0
    for word in (commandline -opc)[2..-1]
        if test $is_value = 1
            set is_value 0
        else if string match -q -- '-*' $word
            contains -- $word $__kafkabal_valued; and set is_value 1
        else if contains -- "$found $word" $__kafkabal_commands
            set found "$found $word"
        else
            set arguments (math $arguments + 1)
        end
    end
    echo $found
    echo $arguments
end

# whether they lead to exactly this command
function __kafkabal_at
    test (__kafkabal_place)[1] = "$argv"
end

# whether they lead to this command and its argument of this number
function __kafkabal_argument
    set -l place (__kafkabal_place)
    test $place[1] = "$argv[2..-1]"; and test $place[2] = $argv[1]
end

function __kafkabal_names
    set -l asked
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -b --bootstrap-server --command-config --profile --snapshot --zookeeper --name
                test $i -lt (count $words); and set -a asked $words[$i] $words[(math $i + 1)]
            case '--bootstrap-server=*' '--command-config=*' '--profile=*' '--snapshot=*' '--zookeeper=*' '--name=*'
                set -a asked $words[$i]
            case '*'
                test -f $words[$i]; and set -a asked --plan $words[$i]
        end
    end
    kafkabal completion candidates $argv[1] $asked 2>/dev/null </dev/null
end

# the same after what was typed up to the last comma
function __kafkabal_list
    set -l typed (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before (string match -r '^.*,' -- $typed)
    for name in (__kafkabal_names $argv[1])
        contains -- $name (string split ',' -- $before); or echo "$before$name"
    end
end

"""


def script(pages: Sequence[Page]) -> str:
    """The text of ``completions/kafkabal.fish``."""
    options = (option for page in pages for option in page.options if option.metavar)
    valued = sorted({flag for option in options for flag in option.flags})
    lists = _list("__kafkabal_commands", [page.title for page in pages[1:]]) + _list("__kafkabal_valued", valued)
    lines = (line for page in pages for line in _lines(page))
    return "".join([_HEAD, lists, "complete -c kafkabal -f\n", *lines])


def _list(name: str, words: Sequence[str]) -> str:
    quoted = " \\\n".join(f"    {_quoted(word)}" for word in words)
    return f"set -g {name} \\\n{quoted}\n\n"


def _lines(page: Page) -> Iterator[str]:
    at = _when(f"__kafkabal_at {page.title}")
    yield "\n"
    for name, help_text in page.commands.items():
        yield f"{at} -a {name} -d {_quoted(help_text)}\n"
    for i, argument in enumerate(page.arguments):
        here = at if argument.repeated else _when(f"__kafkabal_argument {i} {page.title}")
        if words := _words(argument.values):
            yield f"{here}{words}\n"
    for option in page.options:
        yield f"{at} {_flags(option)}{_value(option)} -d {_quoted(option.help)}\n"


def _when(condition: str) -> str:
    return f"complete -c kafkabal -n {_quoted(condition)}"


def _flags(option: Option) -> str:
    return " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)


def _value(option: Option) -> str:
    if not option.metavar:
        return ""
    # without -f, fish also offers files
    return f" -r{'' if option.values.kind is CompletionKind.FILES else ' -f'}{_words(option.values)}"


def _words(values: Values) -> str:
    if values.is_dynamic:
        function = "__kafkabal_list" if values.is_list else "__kafkabal_names"
        return f" -a {_quoted(f'({function} {values.kind})')}"
    match values.kind:
        case CompletionKind.WORDS:
            return f" -a {_quoted(' '.join(values.words))}"
        case CompletionKind.FILES:
            return " -F"
        case _:
            return ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
