"""Scores are found by name, by entry point and by place."""

import math
from contextlib import nullcontext
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafkabal.errors import UsageError
from kafkabal.scoring.available_needs import require
from kafkabal.scoring.bands import RelativeBand
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.plugin_score import plugin_score
from kafkabal.scoring.registry import BUILT_IN, default_scores, load_score, load_scores, score_names
from kafkabal.scoring.score_parts import parts_of
from kafkabal.scoring.score_protocol import Grain, ScoreBase
from kafkabal.testing import cluster_builders


class Heat(ScoreBase):
    """A score that a user might write."""

    name = "heat"


INSTANCE = Heat()
NO_SCORE = object()
BAD_NAME = type("BadName", (ScoreBase,), {"name": "Not A Name"})
BAD_GRAIN = type("BadGrain", (ScoreBase,), {"name": "x", "grain": "rack"})
HERE = "scores_of_a_user"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this module importable under a name of its own."""
    import sys
    from types import ModuleType

    module = ModuleType(HERE)
    module.__dict__.update({k: v for k, v in globals().items() if k.isupper() or k == "Heat"})
    monkeypatch.setitem(sys.modules, HERE, module)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_scores_are_found_by_their_name(name: str) -> None:
    """The name in the table is the name of the score, and it says what it measures in what."""
    score = load_score(name)
    assert score.name == name
    assert score.unit
    assert score.meaning


@pytest.mark.parametrize("attribute", ["Heat", "INSTANCE"])
def test_a_score_is_found_by_module_and_object(attribute: str) -> None:
    """A class is made into an object, an object is taken as it is."""
    assert load_score(f"{HERE}:{attribute}").name == "heat"


def test_an_installed_package_can_offer_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point is known by its name, and cannot take the place of a built-in score."""
    points = [
        EntryPoint("heat", f"{HERE}:Heat", "kafkabal.scores"),
        EntryPoint("disk", f"{HERE}:Heat", "kafkabal.scores"),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    assert load_score("heat").name == "heat"
    assert load_score("disk").name == "disk"
    assert score_names() == tuple(sorted({*BUILT_IN, "heat"}))


@pytest.mark.parametrize(
    ("texts", "weights"),
    [
        (["disk"], {"disk": 1.0}),
        (["disk=3", f"{HERE}:Heat=0.5"], {"disk": 3.0, "heat": 0.5}),
        (["leaders=1e-3", "replicas"], {"leaders": 0.001, "replicas": 1.0}),
        ([], {}),
    ],
)
def test_scores_are_written_with_their_weight(texts: list[str], weights: dict[str, float]) -> None:
    """``NAME=WEIGHT``, in the given order; the weight is 1 unless it is given."""
    assert {s.score.name: s.weight for s in load_scores(texts)} == weights


@pytest.mark.parametrize(
    ("texts", "message", "hint"),
    [
        (["dsk"], "unknown score: 'dsk'", "did you mean: disk"),
        (["qqqq"], "unknown score: 'qqqq'", "choose from: bytes-out, disk"),
        (["disk", "disk=2"], "duplicate score: 'disk'", None),
        (["disk=0"], "weight must be a number above 0", "disk=3"),
        (["disk=1e7"], "weight must be a number above 0 and at most 1,000,000", "disk=3"),
        (["disk=-1"], "above 0", "disk=3"),
        (["disk=nan"], "above 0", "disk=3"),
        (["disk=inf"], "above 0", "disk=3"),
        (["disk="], "above 0", "disk=3"),
        (["no_such_module:X"], "cannot load score .*No module named 'no_such_module'", None),
        ([f"{HERE}:Nothing"], "cannot load score .*has no attribute 'Nothing'", None),
        ([f"{HERE}:NO_SCORE"], "parts of the protocol are missing", "own-score"),
        ([f"{HERE}:BAD_NAME"], "invalid name 'Not A Name'", "own-score"),
        ([f"{HERE}:BAD_GRAIN"], "grain 'rack'", "own-score"),
    ],
)
def test_invalid_scores_are_refused(texts: list[str], message: str, hint: str | None) -> None:
    """Unknown names, double names, bad weights and broken plug-ins: one line each, with a hint."""
    with pytest.raises(UsageError, match=message) as error:
        load_scores(texts)
    assert hint is None or hint in (error.value.hint or "")


@pytest.mark.parametrize(("several", "last"), [(True, "log-dir"), (False, "topic-spread")])
def test_the_default_scores_compare_log_dirs_only_where_there_are_several(several: bool, last: str) -> None:
    """``log-dir`` is a default score where brokers have several; all default scores have weight 1."""
    scores = default_scores(several_log_dirs=several)
    assert [s.score.name for s in scores][:4] == ["disk", "replicas", "leaders", "topic-spread"]
    assert scores[-1].score.name == last
    assert {s.weight for s in scores} == {1.0}


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("base_load", np.zeros(3), r"score 'heat': its base_load is not of shape \(2,\)"),
        ("base_load", np.array([1.0, math.inf]), "base_load is not finite or NaN"),
        ("replica_load", np.array([1.0, math.nan]), "replica_load is not finite"),
        ("replica_load", np.zeros((2, 1)), r"replica_load is not of shape \(2,\)"),
        ("leader_load", np.array([math.nan]), "leader_load is not finite"),
        ("capacity", np.array([1.0, 0.0]), "capacity is not above 0"),
        ("capacity", np.array([1.0, math.nan]), "capacity is not above 0"),
        ("capacity", np.array([1.0, -2.0]), "capacity is not above 0"),
        ("group", np.array([0, -1]), "group is not whole numbers from 0 on"),
        ("group", np.array([0.5, 1.0]), "group is not whole numbers from 0 on"),
        ("holder_group", np.zeros(1, np.int32), r"holder_group is not of shape \(2,\)"),
        ("replica_load", np.array(["a", "b"]), "replica_load is not a column of numbers"),
        ("replica_load", np.array([1j, 1j]), "replica_load is not a column of numbers"),
        ("replica_load", np.array([1.0, -1.0]), "replica_load is not 0 or more"),
        ("replica_load", np.full(2, 1e308), "replica_load is not small enough"),
        ("base_load", np.array([1.0, -1.0]), "base_load is not 0 or more"),
        ("replica_load", np.full(2, 5e-324), "replica_load is not 0 or at least 1e-150"),
        ("leader_load", np.array([-1.0]), "leader_load is not 0 or more together with the replica_load"),
        ("capacity", np.array([1.0, 1e-310]), "capacity is not within 1e-150"),
    ],
)
def test_a_part_that_is_wrong_is_named(part: str, value: Any, message: str) -> None:
    """A error of a plug-in that returns nonsense names the part, and where to read on."""
    score = type("Broken", (Heat,), {part: lambda self, cluster: value})()
    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    with pytest.raises(UsageError, match=message) as error:
        evaluate(score, cluster, tolerance=0.1)
    assert "own-score" in (error.value.hint or "")


@pytest.mark.parametrize("part", ["base_load", "replica_load", "leader_load", "capacity", "group", "holder_group"])
@pytest.mark.parametrize("error", [RuntimeError("boom\nbang"), SystemExit(0)])
def test_a_part_that_raises_is_named_in_one_line(part: str, error: BaseException) -> None:
    """What a plug-in raises is its own fault, and cannot end the command as if all were well."""

    def fail(self: Any, cluster: Any) -> None:
        raise error

    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    score = type("Failing", (Heat,), {part: fail})()
    for asked in (parts_of, lambda score, cluster: getattr(plugin_score(score), part)(cluster)):
        with pytest.raises(UsageError) as caught:
            asked(score, cluster)
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        assert caught.value.message == f"score 'heat': its {part} raised {said}"


@pytest.mark.parametrize("grain", list(Grain))
@pytest.mark.parametrize(("values", "is_refused"), [([np.nan, np.nan], True), ([np.nan, 3.0], False)])
def test_a_score_that_knows_nothing_is_refused(grain: Grain, values: list[float], is_refused: bool) -> None:
    """If no live broker had a value, inspect called the cluster balanced; one value is enough."""
    parts = {"grain": grain, "base_load": lambda self, cluster: np.array(values)}
    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    with pytest.raises(UsageError, match="'heat' has no value for any live") if is_refused else nullcontext():
        require(type("Unknown", (Heat,), parts)(), cluster)


def test_signals_reach_through_a_score() -> None:
    """Ctrl-C within the code of a plug-in is Ctrl-C."""

    def interrupted(self: Any, cluster: Any) -> None:
        raise KeyboardInterrupt

    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    with pytest.raises(KeyboardInterrupt):
        parts_of(type("Slow", (Heat,), {"capacity": interrupted})(), cluster)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("band", 3, "its band must be a band, not 3"),
        ("band", RelativeBand, "must be a band"),
        ("needs", {"moon"}, "its needs must be among .*not 'moon'"),
        ("unit", None, "unit"),
    ],
)
def test_an_attribute_that_is_wrong_is_named(attribute: str, value: Any, message: str) -> None:
    """It is found when the score is loaded, not where it is used."""
    with pytest.raises(UsageError, match=f"score 'heat': .*{message}"):
        plugin_score(type("Broken", (Heat,), {attribute: value})())


def test_a_band_that_raises_is_named() -> None:
    """A band of one's own is guarded as the parts are."""

    class NoBand:
        def edges(self, fair_load: Any, tolerance: float) -> Any:
            raise RuntimeError("boom")

    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    score = plugin_score(type("Broken", (Heat,), {"band": NoBand()})())
    with pytest.raises(UsageError, match="score 'heat': its band raised RuntimeError: boom"):
        evaluate(score, cluster, tolerance=0.1)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ("a", "b", "a pair of numbers or of columns of numbers"),
        (None, None, "a pair of numbers or of columns of numbers"),
        (1j, 2j, "a pair of numbers or of columns of numbers"),
        (np.nan, 1.0, "from a lower to a higher edge"),
        (np.array([1.0, 3.0]), 2.0, "from a lower to a higher edge"),
    ],
)
def test_a_band_with_wrong_edges_is_named(low: Any, high: Any, message: str) -> None:
    """Edges of another type ended in a traceback, NaN counted as inside, and kept a plan from balancing anything."""
    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    band = type("Band", (), {"edges": lambda self, fair_load, tolerance: (low, high)})()
    score = plugin_score(type("Broken", (Heat,), {"band": band})())
    with pytest.raises(UsageError, match=f"score 'heat': its band is not {message}"):
        evaluate(score, cluster, tolerance=0.1)


def test_a_band_cannot_change_fair_loads() -> None:
    """It gets a copy: the shares are computed from the same column."""

    def edges(self: Any, fair_load: Any, tolerance: float) -> Any:
        fair_load *= 0
        return -np.inf, np.inf

    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    score = plugin_score(type("Changing", (Heat,), {"band": type("Band", (), {"edges": edges})()})())
    plain = evaluate(plugin_score(Heat()), cluster, tolerance=0.1)
    assert evaluate(score, cluster, tolerance=0.1).fair.tolist() == plain.fair.tolist()


def test_a_module_that_ends_the_process_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in that exits on import is an error, not a success."""
    (tmp_path / "exits_at_once.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"cannot load .*: SystemExit: 0"):
        load_scores(["exits_at_once:Score"])


def test_numbers_of_groups_may_be_any() -> None:
    """Memory is taken for as many groups as there are, not up to the highest number."""
    groups = np.array([2**40, 7, 2**40], np.int64)
    score = type("Grouped", (Heat,), {"group": lambda self, cluster: groups})()
    cluster = cluster_builders.cluster(cluster_builders.brokers(3), [cluster_builders.topic("t", [1, 2, 3])])
    found = parts_of(score, cluster).group
    assert found is not None
    assert found.tolist() == [1, 0, 1]


def test_a_score_without_parts_is_balanced() -> None:
    """What a plug-in leaves out is no load and equal capacity."""
    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [cluster_builders.topic("t", [1, 2])])
    parts = parts_of(INSTANCE, cluster)
    result = evaluate(INSTANCE, cluster, tolerance=0.1)
    assert parts.capacity.tolist() == [1.0, 1.0]
    assert result.share.tolist() == [1.0, 1.0]
    assert (result.skew, result.max_share, result.min_share) == (0.0, 1.0, 1.0)
    assert INSTANCE.grain is Grain.BROKER
