"""Man pages, one per command, in the man(7) macros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import kafkabal
from kafkabal.cli.framework.completion.command_pages import Option, Page
from kafkabal.errors import EXIT_CODE_MEANINGS

_ENVIRONMENT = (
    "Every option can also be set in the environment as KAFKABAL_<OPTION>, as in KAFKABAL_TOLERANCE=5%, or in a "
    "profile. Flags are stronger than the environment, which is stronger than the profile."
)

# date of the last revision of all pages: updated with each release, so that pages do not change on their own
_DATE = "2026-11-22"
_FILES = (
    ("~/.config/kafkabal/profiles.yaml", "Profiles: what is set for a cluster once, by name ($XDG_CONFIG_HOME)."),
    ("~/.local/state/kafkabal/", "Journals of runs, sandboxes ($XDG_STATE_HOME)."),
    ("~/.cache/kafkabal/", "Names for completion, jars of the sandbox; can be deleted ($XDG_CACHE_HOME)."),
)


def file_name(page: Page) -> str:
    """``kafkabal-rebalance-plan.1``."""
    return "-".join(page.path) + ".1"


def man_page(page: Page, all_pages: Sequence[Page]) -> str:
    """The text of a page."""
    return "".join(f"{line}\n" for line in _lines(page, all_pages))


def _lines(page: Page, all_pages: Sequence[Page]) -> Iterator[str]:
    name = "-".join(page.path)
    yield '.\\" Generated: change the commands, then run  python -m tools.reference'
    yield f'.TH "{_text(name.upper())}" 1 "{_DATE}" "kafkabal {kafkabal.__version__}" "kafkabal"'
    yield ".nh"  # a name with a hyphen inserted is found by no search
    yield from (".SH NAME", f"{_text(name)} \\- {_text(page.summary)}")
    yield from (".SH SYNOPSIS", f".B {_text(page.usage)}")
    if page.paragraphs:
        yield ".SH DESCRIPTION"
        for i, paragraph in enumerate(page.paragraphs):
            yield from ([".PP"] if i else [])
            yield _text(paragraph)
    yield from _listed("COMMANDS", [(f"{page.title} {n}", help_text) for n, help_text in page.commands.items()])
    yield from _listed("ARGUMENTS", [(a.metavar, a.help) for a in page.arguments])
    for section, options in page.sections().items():
        yield from _listed(section.upper(), [(_flags(option), option.help) for option in options])
    if page.examples:
        yield from (".SH EXAMPLES", ".nf", *(_text(example) for example in page.examples), ".fi")
    yield from (".SH ENVIRONMENT", _text(_ENVIRONMENT))
    yield from _listed("FILES", _FILES)
    yield from _listed("EXIT STATUS", [(str(int(code)), meaning) for code, meaning in EXIT_CODE_MEANINGS.items()])
    related = [other for other in all_pages if other.path[:-1] in (page.path, page.path[:-1]) and other is not page]
    if related:
        yield ".SH SEE ALSO"
        yield ",\n".join(f".BR {_text('-'.join(other.path))} (1)" for other in related).replace(",\n.BR", "\n.BR")


def _listed(title: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if entries:
        yield f".SH {title}"
        for term, text in entries:
            yield from (".TP", f".B {_text(term)}", _text(text))


def _flags(option: Option) -> str:
    return ", ".join(option.flags) + (f" {option.metavar}" if option.metavar else "")


def _text(text: str) -> str:
    """Escape text so that roff interprets none of it."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
