"""The report of ``create``: the topics, where their replicas go, and the effect on the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from kafkabal.config import Difference
from kafkabal.inspection import Scored, worst_group
from kafkabal.model import MIN_INSYNC_REPLICAS, ClusterState, rack_numbers, takes_replicas
from kafkabal.placement import PlacedTopic, PlacedTopics
from kafkabal.reporting.plan_moves import FIRST_MOVES
from kafkabal.reporting.report import Column, Report, Table, Tone, ValueKind, known
from kafkabal.scoring import Grain, WeightedScore, evaluate
from kafkabal.wording import counted_noun, first_of, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A request to create topics, and its result."""

    before: ClusterState
    placed: PlacedTopics
    existing: tuple[str, ...]
    """Topics that already exist."""
    differences: tuple[Difference, ...]
    """How these differ from the request."""
    scores: tuple[WeightedScore, ...]
    tolerance: float
    dry_run: bool

    def warnings(self) -> tuple[str, ...]:
        """What the new topics lack: enough replicas for their settings, or a rack that accepts none now."""
        return (*self._missing_racks(), *self._too_few_in_sync())

    def _too_few_in_sync(self) -> Iterator[str]:
        for topic in self.placed.topics:
            factor = len(topic.assignment[0])
            wanted = topic.configs.get(MIN_INSYNC_REPLICAS, "").strip()
            if wanted.isdecimal() and int(wanted) > factor:
                yield (
                    f"topic {topic.name}: {MIN_INSYNC_REPLICAS} {wanted} exceeds replication factor {factor}; "
                    "producers with acks=all will fail"
                )

    def _missing_racks(self) -> Iterator[str]:
        """A broker that is restarting leaves its rack out; nothing else shows that the loss of another rack would then
        take several replicas at once."""
        state = self.before
        takes = takes_replicas(state, np.zeros(len(state.brokers), np.bool_))
        rack = rack_numbers(state)
        racks = np.unique(rack[takes])
        closed = [_with_rack(state, row) for row in np.flatnonzero(~np.isin(rack, racks)).tolist()]
        names = [topic.name for topic in self.placed.topics if len(topic.assignment[0]) > len(racks)]
        if closed and names:
            accept, they_do = ("accepts", "it does") if len(closed) == 1 else ("accept", "they do")
            yield (
                f"{plural(len(names), 'topic')} {first_of(names)}: replicas share racks, because {first_of(closed)} "
                f"{accept} none; run 'kafkabal rebalance' once {they_do}"
            )


def _with_rack(state: ClusterState, row: int) -> str:
    rack = int(state.brokers.rack[row])
    return f"broker {state.brokers.id[row]} ({f'rack {state.racks[rack]}' if rack >= 0 else 'rack unknown'})"


def creation_report(creation: Creation, shown_rows: int | None = FIRST_MOVES) -> Report:
    """The report of ``create``.

    Parameters
    ----------
    shown_rows
        How many topics, partitions and notes people see; programs see all.
    """
    topics = creation.placed.topics
    return Report(
        command="create",
        headline=_headline(creation),
        tone=Tone.GOOD,
        tables=(
            replace(_topic_table(creation), shown_rows=shown_rows),
            _broker_table(creation),
            _score_table(creation),
            replace(_assignment_table(topics, shown=creation.dry_run), shown_rows=shown_rows),
        ),
        shown_notes=shown_rows,
        notes=(
            *creation.warnings(),
            *(f"exists and differs, not changed: {difference}" for difference in creation.differences),
        ),
    )


def _headline(creation: Creation) -> str:
    topics = creation.placed.topics
    if not topics:
        differing = len({found.topic for found in creation.differences})
        if not differing:
            return "Nothing to do: all topics exist."
        return f"Nothing to create: all topics exist, and {differing} differ{'s' if differing == 1 else ''}."
    partitions = sum(len(topic.assignment) for topic in topics)
    done = "Would create" if creation.dry_run else "Created"
    names = topics[0].name if len(topics) == 1 else counted_noun(len(topics), "topic")
    return f"{done} {names}: {counted_noun(partitions, 'partition')}, {counted_noun(_replicas(topics), 'replica')}."


def _replicas(topics: Sequence[PlacedTopic]) -> int:
    return sum(len(replicas) for topic in topics for replicas in topic.assignment)


def _topic_table(creation: Creation) -> Table:
    """The new topics, then the existing ones, as they are."""
    topics = creation.placed.topics
    differing = {difference.topic for difference in creation.differences}
    states = ["planned" if creation.dry_run else "created"] * len(topics)
    states += ["differs" if name in differing else "exists" for name in creation.existing]
    there = [_existing_shape(creation.before, name) for name in creation.existing]
    shapes = [*((len(t.assignment), len(t.assignment[0])) for t in topics), *there]
    return Table(
        key="topics",
        columns=(
            Column(key="topic", title="topic", values=[*(t.name for t in topics), *creation.existing], label=True),
            Column(key="state", title="state", values=states),
            Column(key="partitions", title="partitions", kind=ValueKind.NUMBER, values=[shape[0] for shape in shapes]),
            Column(
                key="replication_factor", title="factor", kind=ValueKind.NUMBER, values=[shape[1] for shape in shapes]
            ),
            Column(
                key="partition_bytes",
                title="expected size",
                kind=ValueKind.BYTES,
                quiet=True,
                values=[*(t.partition_bytes or None for t in topics), *[None] * len(there)],
            ),
            Column(
                key="configs",
                title="configs",
                wraps=True,
                quiet=True,
                values=[
                    *([f"{key}={value}" for key, value in sorted(t.configs.items())] for t in topics),
                    *[None] * len(there),
                ],
            ),
        ),
    )


def _existing_shape(state: ClusterState, name: str) -> tuple[int, int]:
    """Number of partitions of a topic, and replicas of its first one."""
    own = state.partitions.rows_of(state.topics.index_of(name))
    replicas_from, replicas_to = state.partitions.first[own.start : own.start + 2].tolist()
    return own.stop - own.start, replicas_to - replicas_from


def _broker_table(creation: Creation) -> Table:
    """What each broker receives, and its share by the first score afterwards."""
    state = creation.placed.state
    ids = state.brokers.id.tolist()
    rows = [replicas for topic in creation.placed.topics for replicas in topic.assignment]
    held, led = Counter(chain.from_iterable(rows)), Counter(replicas[0] for replicas in rows)
    score = next((w.score for w in creation.scores if w.score.grain is Grain.BROKER), None)
    share = evaluate(score, state, tolerance=creation.tolerance).share if score else np.full(len(ids), np.nan)
    racks = [state.racks[rack] if rack >= 0 else None for rack in state.brokers.rack.tolist()]
    return Table(
        key="brokers",
        for_programs=not creation.placed.topics,
        columns=(
            Column(key="broker", title="broker", values=ids, label=True),
            Column(key="rack", title="rack", values=racks, quiet=True),
            Column(key="new_replicas", title="new replicas", kind=ValueKind.NUMBER, values=[held[b] for b in ids]),
            Column(key="new_leaders", title="new leaders", kind=ValueKind.NUMBER, values=[led[b] for b in ids]),
            Column(key="share", title=f"{score.name} after" if score else "", kind=ValueKind.FAIR, values=known(share)),
            Column(key="bar", title=" " if score else "", kind=ValueKind.FAIR_BAR, dispensable=1, values=known(share)),
        ),
    )


def _score_table(creation: Creation) -> Table:
    scores = [weighted.score for weighted in creation.scores]
    columns = [Column(key="score", title="score", values=[score.name for score in scores], label=True)]
    for when, state in (("before", creation.before), ("after", creation.placed.state)):
        columns += _shares(when, [Scored(s, evaluate(s, state, tolerance=creation.tolerance)) for s in scores], state)
    return Table(key="scores", for_programs=not creation.placed.topics, columns=tuple(columns))


def _shares(when: str, scored: Sequence[Scored], state: ClusterState) -> list[Column]:
    """The extremes of each score, as in ``inspect``: within the worst group if the score has groups."""
    ends = [worst_group(each, state) or each.evaluation for each in scored]
    return [
        Column(
            key=f"max_share_{when}",
            title=f"highest {when}",
            kind=ValueKind.FAIR,
            values=[end.max_share for end in ends],
        ),
        Column(
            key=f"min_share_{when}",
            title=f"lowest {when}",
            kind=ValueKind.FAIR,
            values=[end.min_share for end in ends],
        ),
        Column(key=f"outside_{when}", title="", values=[int(each.evaluation.outside.sum()) for each in scored]),
    ]


def _assignment_table(topics: Sequence[PlacedTopic], *, shown: bool) -> Table:
    rows = [
        (topic.name, partition, replicas, paths)
        for topic in topics
        for partition, (replicas, paths) in enumerate(zip(topic.assignment, topic.log_dirs, strict=True))
    ]
    log_dirs = [list(row[3]) for row in rows]
    has_dirs = any(path != "any" for *_, paths in rows for path in paths)
    return Table(
        key="assignment",
        for_programs=not shown,
        columns=(
            Column(key="topic", title="topic", values=[row[0] for row in rows]),
            Column(key="partition", title="partition", kind=ValueKind.ID, values=[row[1] for row in rows]),
            Column(key="replicas", title="replicas", values=[list(row[2]) for row in rows]),
            Column(key="log_dirs", title="log dirs" if has_dirs else "", wraps=True, values=log_dirs),
        ),
    )
