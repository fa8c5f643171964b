"""Records of a journal, one JSON object per line.

The first line is a header with the version; then come the planned partitions and the original configs, followed by the
events of the run.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec

from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome

JOURNAL_VERSION = 1


class EffectKind(StrEnum):
    """What a request changes on the cluster."""

    REASSIGN = "reassign"
    CANCEL = "cancel"
    LOG_DIRS = "log-dirs"
    ELECT = "elect"
    CONFIGS = "configs"


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """First line: the run, its plan, its cluster and its options."""

    kafkabal_journal: int
    run_id: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$")]
    """Also the file name of the journal."""
    plan_id: str
    cluster_id: str
    started_at: str
    host: str
    options: RunOptions
    cordons: tuple[Original, ...] = ()
    user: str = ""
    why: str = ""


class Entered(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="entered"):
    """The run enters a phase, towards a goal."""

    at: str
    goal: Goal
    phase: Phase
    openings: int = 0
    """How often the run was reopened."""
    batches: int | None = None
    """Requests that have started moves, on all hosts; None if an earlier version wrote this or the count is lost."""


class ThrottleRate(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="rate"):
    """A throttle of this value may be set from now on."""

    at: str
    value: str


class ThrottleTaken(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="throttle"):
    """The run has another throttle from now on."""

    at: str
    throttle: Throttle
    asked_at: str
    """The latest throttle request taken; empty if there was none."""


class Intended(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="intended"):
    """A request is about to be sent."""

    at: str
    number: int
    kind: EffectKind
    items: dict[str, Any]


class Confirmed(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="confirmed"):
    """The answer to a request has arrived; names the items that failed."""

    at: str
    number: int
    failed: dict[str, str] = {}
    unanswered: list[str] = []
    """Those of them that were sent to a broker that did not respond: it may execute them later."""


class Unanswered(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="unanswered"):
    """No answer has arrived: the request may or may not have been executed."""

    at: str
    number: int
    error: str


class Closed(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="closed"):
    """The run has ended."""

    at: str
    outcome: RunOutcome
    pending: list[str] = []
    problems: dict[str, str] = {}


Record: TypeAlias = (
    Header
    | RunPartition
    | Original
    | Entered
    | ThrottleRate
    | ThrottleTaken
    | Intended
    | Confirmed
    | Unanswered
    | Closed
)
