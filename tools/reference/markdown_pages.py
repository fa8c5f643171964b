"""The reference pages in ``docs/``: commands, exit codes, scores, policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kafkabal.cli.framework.completion.command_pages import Option, Page
from kafkabal.errors import EXIT_CODE_MEANINGS
from kafkabal.routing import About, load_policy, options_of, policy_names
from kafkabal.scoring import BUILT_IN, DEFAULT_SCORES, load_score

_GENERATED = "<!-- Generated: change the code, then run  python -m tools.reference -->\n\n"
_PLUGIN_CODES = (
    ("0", "OK: balanced within `-w`, nothing broken"),
    ("1", "WARNING: skew above `-w`"),
    ("2", "CRITICAL: skew above `-c`, something broken, or the cluster cannot be reached"),
    ("3", "UNKNOWN: bad usage, or the check itself failed"),
)


def commands(pages: Sequence[Page]) -> str:
    """``docs/commands.md``."""
    return _GENERATED + "# Commands\n\n" + "\n".join("".join(_page(page)) for page in pages)


def exit_codes() -> str:
    """``docs/exit-codes.md``."""
    rows = [(str(int(code)), meaning) for code, meaning in EXIT_CODE_MEANINGS.items()]
    return (
        f"{_GENERATED}# Exit codes\n\n"
        "Exit codes are a contract. An error is one line on stderr, with a hint if there is one.\n\n"
        f"{_table(('exit', 'meaning'), rows)}\n"
        "## As a monitoring plugin\n\n"
        "Only `kafkabal inspect --nagios` uses these. It prints one line on stdout, errors included.\n\n"
        f"{_table(('exit', 'meaning'), _PLUGIN_CODES)}"
    )


_FAIR = """## What is fair

A share is the load of a broker divided by its *fair* load. If racks, replication factors and disks allow it, the fair
load is the mean for its capacity. Otherwise it is the load of the broker in the most even placement that the rules
allow: the largest load is as small as possible, then the next, and so on (leximin). For example, with three replicas
in three racks each rack holds a third. Of 2 + 2 + 1 brokers, the one that is alone in its rack carries 1.67 times the
mean; that is its fair share, 1.00x.

The rules are:

* Replicas are on distinct brokers, in as many racks as the replication factor and the racks allow.
* Dead and drained brokers hold nothing.
* Brokers that take nothing (excluded, cordoned, or without a report of their log dirs) hold at most what they have, and
  so do cordoned log dirs.
* Topics that may not move stay; internal ones may move only with `--include-internal`.
* Log dirs stay below their limit, other programs included.

That a replica cannot be divided is not one of these rules. Five equal replicas on two brokers, or on two log dirs, are
at 1.20x and 0.80x, and `inspect --check` reports them until there are more partitions or `--tolerance` is wider.

Replicas, leaders and rates are judged in the same way, topics by their own replication factor, log dirs within their
broker, and `latency` and `prometheus` by the mean.

Balancing does not move internal topics, but other data compensates for their bytes, also between the log dirs of a
broker. A log dir that holds nothing but an internal topic is therefore balanced. Replicas and leaders of internal
topics are not compensated for: the fair count of a broker is the count without them, plus those it has. So a balanced
cluster stays balanced when Kafka creates `__consumer_offsets`, or kafkabal a topic of its own.

`inspect` shows the column `fair`, in shares of the mean, if it differs from 1.00x, and reports once what the racks
cost:

```
rack c has 1 of 5 brokers and must hold 33%: its broker carries at least 1.67x the mean
1 more broker in rack c would make all shares equal
```

JSON has `fair` and `<score>_fair` (in the unit of the load) for every broker, and `small_racks`.
[ADR 7](adr/0007-fair-means-attainable.md) explains how fair loads are computed, and why that is right.
"""


def scores() -> str:
    """``docs/scores.md``."""
    found = [load_score(name) for name in BUILT_IN]
    rows = [
        (
            f"`{score.name}`",
            score.meaning,
            score.grain,
            score.unit,
            ", ".join(sorted(score.needs)) or "nothing",
            "yes" if score.name in DEFAULT_SCORES else "no",
            "yes" if score.band else "routing, leadership and new topics only",
        )
        for score in found
    ]
    return (
        f"{_GENERATED}# Scores\n\n"
        "A score says how loaded each broker or log dir is. One registry serves every command: what `inspect` shows is "
        "what `create` places, `produce` routes and `rebalance` balances by. Choose with `--score NAME[=WEIGHT]`; "
        "write your own as described in [own-score.md](own-score.md).\n\n"
        f"{_table(('score', 'measures', 'of a', 'unit', 'needs', 'by default', 'moves data'), rows)}"
        f"\n{_FAIR}"
    )


def _page(page: Page) -> Iterator[str]:
    yield f"## {page.title}\n\n{page.summary}\n\n```\n{page.usage}\n```\n\n"
    # as code: a name in angle brackets alone would look like an HTML tag
    yield from (re.sub(r"\w*<\w+>", r"`\g<0>`", paragraph) + "\n\n" for paragraph in page.paragraphs)
    if page.commands:
        yield _table(("command", "does"), [(f"`{name}`", text) for name, text in page.commands.items()]) + "\n"
    if page.arguments:
        yield _table(("argument", ""), [(f"`{a.metavar}`", a.help) for a in page.arguments]) + "\n"
    for section, options in page.sections().items():
        yield _table((section.lower(), ""), [(_flags(option), option.help) for option in options]) + "\n"
    if page.examples:
        yield "```\n" + "".join(f"{example}\n" for example in page.examples) + "```\n"


def _flags(option: Option) -> str:
    flags = ", ".join(f"`{flag}`" for flag in option.flags)
    return f"{flags} `{option.metavar}`" if option.metavar else flags


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def policies() -> str:
    """``docs/policies.md``."""
    found = [load_policy(name) for name in policy_names()]
    rows = [
        (
            f"`{choice.about.name}`",
            choice.about.meaning,
            "yes" if choice.about.keeps_key_order else "no",
            ", ".join(sorted(choice.about.inputs)) or "nothing",
            choice.about.feedback.value,
            ", ".join(
                f"`{key}={str(value).lower()}`{_range(choice.about, key)}"
                for key, value in options_of(choice.make).items()
            ),
            choice.about.source,
        )
        for choice in found
    ]
    header = ("policy", "sends each record to", "keeps key order", "needs", "learns from", "options", "source")
    return (
        f"{_GENERATED}# Routing policies\n\n"
        "A policy decides the partition of each record. `kafkabal route-simulate` compares them before anything is "
        "written, `kafkabal produce` routes by them. [routing.md](routing.md) explains how they work, "
        "[simulate.md](simulate.md) how they are compared.\n\n"
        f"{_table(header, rows)}"
    )


def _range(about: About, option: str) -> str:
    return f" ({about.ranges[option]})" if option in about.ranges else ""
