"""The completion script for bash (3.2 and later, so that it works on macOS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.completion.option_values import CompletionKind, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkabal.cli.framework.completion.command_pages import Page

_HEAD = """\
# bash completion for kafkabal. Generated: change the commands, then run  python -m tools.reference
# Commands, options and fixed words are in this file; names (topics, profiles, ...) come from kafkabal itself.

# words=  commands and options of the command $1
_kafkabal_words() {
    case "$1" in
"""
_SPECS = """\
        *) words= ;;
    esac
}

# spec=  what is expected after the option $2 of the command $1, or as its argument #0, #1 ... or #* for all others
_kafkabal_spec() {
    case "$1 $2" in
"""
_TAIL = r"""        *) spec= ;;
    esac
}

# keep the options that choose the cluster, sandbox or plan whose names are completed
_kafkabal_note() {
    case "$1" in
        -b | --bootstrap-server | --command-config | --profile | --snapshot | --zookeeper | --name)
            asked+=("$1" "$2") ;;
    esac
}

# tokens=  the words of the line $1 without quotes and backslashes; the last one is being typed
_kafkabal_split() {
    local line=$1 word= quote= begun= char i
    tokens=()
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $char == \\ && $quote != "'" ]]; then
            i=$((i + 1)) begun=1
            word+=${line:i:1}
        elif [[ -n $quote ]]; then
            if [[ $char == "$quote" ]]; then quote=; else word+=$char; fi
        elif [[ $char == "'" || $char == '"' ]]; then
            quote=$char begun=1
        elif [[ $char == [[:space:]] ]]; then
            [[ -n $word$begun ]] && tokens+=("$word")
            word= begun=
        else
            word+=$char
        fi
    done
    tokens+=("$word")
}

_kafkabal() {
    local line=${COMP_LINE:0:COMP_POINT} command=kafkabal option= spec= words= position=0 prefix= word i
    local tokens=() asked=()
    _kafkabal_split "$line"
    local last=$((${#tokens[@]} - 1)) current
    current=${tokens[last]}
    COMPREPLY=()
    for ((i = 1; i < last; i++)); do
        word=${tokens[i]}
        if [[ -n $option ]]; then
            _kafkabal_note "$option" "$word"
            option=
            continue
        fi
        case "$word" in
            --*=*) _kafkabal_note "${word%%=*}" "${word#*=}" ;;
            -*) _kafkabal_spec "$command" "$word"; [[ -n $spec ]] && option=$word ;;
            *)
                _kafkabal_words "$command $word"
                if [[ -n $words ]]; then
                    command="$command $word"
                else
                    [[ -f $word ]] && asked+=(--plan "$word")
                    position=$((position + 1))
                fi ;;
        esac
    done
    if [[ -n $option ]]; then
        _kafkabal_spec "$command" "$option"
    elif [[ $current == --*=* ]]; then
        _kafkabal_spec "$command" "${current%%=*}"
        prefix=${current%%=*}=
        current=${current#*=}
    elif [[ $current == -* ]]; then
        _kafkabal_words "$command"
        spec="words ${words#*|}"
    else
        _kafkabal_words "$command"
        _kafkabal_spec "$command" "#$position"
        [[ -n $spec ]] || _kafkabal_spec "$command" "#*"
        [[ -n $spec ]] || spec="words ${words%%|*}"
    fi
    local kept= typed="$prefix$current" listed=
    if [[ $spec == list\ * ]]; then
        spec=${spec#list }
        listed=,${current%"${current##*,}"}
        prefix=$prefix${current%"${current##*,}"}
        current=${current##*,}
    fi
    # readline replaces only what follows the last character that breaks words
    local breaks=${COMP_WORDBREAKS//[^=:]/}
    [[ -n $breaks ]] && kept=${typed%"${typed##*[$breaks]}"}
    case "$spec" in
        words\ *)
            for word in ${spec#words }; do
                [[ $word == "$current"* ]] && COMPREPLY+=("$prefix$word")
            done ;;
        files)
            compopt -o filenames 2> /dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
            return ;;
        names\ *)
            local ask=(kafkabal completion candidates "${spec#names }")
            while IFS= read -r word; do
                [[ $word == "$current"* && $listed != *,"$word",* ]] && COMPREPLY+=("$prefix$word")
            done < <("${ask[@]}" ${asked[@]+"${asked[@]}"} 2> /dev/null < /dev/null) ;;
    esac
    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
        COMPREPLY[i]=${COMPREPLY[i]#"$kept"}
    done
}

complete -F _kafkabal kafkabal
"""


def script(pages: Sequence[Page]) -> str:
    """The text of ``completions/kafkabal.bash``."""
    return "".join([_HEAD, *_words(pages), _SPECS, *_specs(pages), _TAIL])


def _words(pages: Sequence[Page]) -> Iterator[str]:
    """Commands before the bar, options after it."""
    for page in pages:
        flags = (flag for option in page.options for flag in option.flags)
        yield f'        "{page.title}") words="{" ".join(page.commands)}|{" ".join(flags)}" ;;\n'


def _specs(pages: Sequence[Page]) -> Iterator[str]:
    for page in pages:
        for option in page.options:
            if option.metavar:
                patterns = " | ".join(f'"{page.title} {flag}"' for flag in option.flags)
                yield f'        {patterns}) spec="{_spec(option.values)}" ;;\n'
        for i, argument in enumerate(page.arguments):
            place = "*" if argument.repeated else str(i)
            yield f'        "{page.title} #{place}") spec="{_spec(argument.values)}" ;;\n'


def _spec(values: Values) -> str:
    if values.is_dynamic:
        return f"{'list ' if values.is_list else ''}names {values.kind}"
    match values.kind:
        case CompletionKind.WORDS:
            return f"words {' '.join(values.words)}"
        case CompletionKind.FILES:
            return "files"
        case _:
            return "value"
