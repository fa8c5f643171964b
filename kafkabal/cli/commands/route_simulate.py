"""``kafkabal route-simulate``: how policies would distribute a workload, before a byte is written."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.atomic_files import check_replaceable
from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import report_chosen_sandbox
from kafkabal.cli.framework.options_without_effect import OF_CLUSTER, refuse_beside, refuse_without
from kafkabal.cli.framework.selected_scores import check_are_measured, check_scores_route, unchecked_scores
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.clusters import FOR_REPORTS
from kafkabal.config import DEFAULT_ROUTED_SCORES, Settings, parse_topic
from kafkabal.errors import UsageError
from kafkabal.units import parse_positive_bytes
from kafkabal.wording import first_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkabal.model import ClusterState
    from kafkabal.routing import RoutingView
    from kafkabal.simulator import TrainingSetup, WorkloadFile

_WORKLOAD = "Workload"
_TRAINING = "Training"
# halving the confidence interval takes four times as many seeds; more would take hours
_MOST_SEEDS = 1000


def _local_data(text: str) -> Path:
    """A folder or file of this host; it is read more than once.

    Raises
    ------
    UsageError
        If it is in a store, standard input, a pipe or a device.
    """
    from kafkabal.input_files import STDIN, exists
    from kafkabal.sources import is_url, shown_url

    path = Path(text)
    if is_url(text):
        raise UsageError(f"not on this host: {shown_url(text)}", hint="copy it to this host first")
    if text == STDIN or (exists(path) and not path.is_dir() and not path.is_file()):
        raise UsageError(f"not a folder or regular file: {text}", hint="write it to a file first: it is read twice")
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """The workload to write."""

    workload: Annotated[
        str,
        typer.Option(
            "--workload", metavar="NAME|FILE", help="Built-in workload or .yaml file.", rich_help_panel=_WORKLOAD
        ),
    ] = "records"
    records: Annotated[
        int | None,
        typer.Option("--records", metavar="N", min=1, help="Number of records to write.", rich_help_panel=_WORKLOAD),
    ] = None
    total_bytes: Annotated[
        int | None,
        typer.Option(
            "--bytes", metavar="SIZE", parser=parse_positive_bytes, help="Bytes to write.", rich_help_panel=_WORKLOAD
        ),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR|FILE",
            parser=_local_data,
            help="Take record sizes from a folder of files, or a file of rows, each once unless --records or --bytes "
            "is given.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="FIELD",
            help="Take record keys from --data: a field of its rows; for files, 'path' or 'label'.",
            rich_help_panel=_WORKLOAD,
        ),
    ] = None

    def load(self) -> "WorkloadFile":
        """The named workload, changed by the other options.

        Raises
        ------
        UsageError
            If it is unknown, malformed, or both --records and --bytes are given.
        """
        from kafkabal.input_files import exists
        from kafkabal.simulator import folder_records, load_workload, row_records

        if self.records is not None and self.total_bytes is not None:
            raise UsageError("--records and --bytes cannot be combined", hint="give only one of them")
        workload_file = load_workload(self.workload)
        workload = workload_file.workload
        if self.key is not None and self.data is None:
            raise UsageError("--key requires --data", hint="name a folder of files, or a file of rows")
        if self.data is not None:
            records_of = folder_records if exists(self.data) and self.data.is_dir() else row_records
            sizes, keys = records_of(self.data, self.key)
            workload = replace(
                workload, sizes=sizes, keys=keys or workload.keys, records=len(sizes.size_bytes), total_bytes=None
            )
        if self.records is not None:
            workload = replace(workload, records=self.records, total_bytes=None)
        if self.total_bytes is not None:
            workload = replace(workload, records=None, total_bytes=self.total_bytes)
        return replace(workload_file, workload=workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """The training job that reads the data afterwards."""

    storage: Annotated[
        list[str] | None,
        typer.Option(
            "--storage",
            metavar="NAME",
            help="Predict training time with local-ssd, nfs, lustre, a profile of --training, or all. Repeatable.",
            rich_help_panel=_TRAINING,
        ),
    ] = None
    training: Annotated[
        Path | None,
        typer.Option(
            "--training",
            metavar="FILE",
            help="YAML file with storage profiles, the training job and read rates of brokers.",
            rich_help_panel=_TRAINING,
        ),
    ] = None
    rack: Annotated[
        str | None,
        typer.Option("--rack", metavar="RACK", help="Rack of the readers, for rack-local.", rich_help_panel=_TRAINING),
    ] = None

    def load(self) -> "Mapping[str, TrainingSetup]":
        """Training job with each storage profile; none without --storage.

        Raises
        ------
        UsageError
            If the profile is unknown or the file is invalid.
        """
        from kafkabal.simulator import load_trainings

        if not self.storage:
            if self.training is not None:
                raise UsageError(
                    "--training requires --storage",
                    hint="add --storage measured for a file that 'kafkabal read' wrote, or the name of another profile",
                )
            return {}
        return load_trainings(self.storage, self.training)


def route_simulate(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, "routed_scores", may_need_no_cluster=True)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "html")],
    workload_options: WorkloadOptions,
    training_options: TrainingOptions,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="NAME[:OPTION=VALUE,...]", help="Policy to simulate. Repeatable. [default: all]"
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            metavar="TOPIC",
            parser=parse_topic,
            help="Existing topic to write to, with its partitions and leaders.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", metavar="N", min=1, max=_MOST_SEEDS, help="Number of seeds to repeat each simulation with."
        ),
    ] = 1,
    latency: Annotated[
        bool, typer.Option("--latency/--no-latency", help="Also simulate batches, queues and acknowledgements.")
    ] = True,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            parser=check_replaceable,
            help="Write a plot: .svg, .png or .html (needs the extra 'plots').",
        ),
    ] = None,
) -> None:
    """Simulate how routing policies would distribute a workload.

    With --topic, starts from that topic of a live cluster or snapshot, and ignores a cluster that the workload
    describes. Without it, starts from the workload's own cluster, or else from the only topic of the cluster. Writes
    nothing. The same seeds give the same figures.

    Examples:

      kafkabal route-simulate --topic images --policy score --policy default

      kafkabal route-simulate --topic images --data ./imagenet --storage nfs

      kafkabal route-simulate --topic images --workload coco --storage all

      kafkabal route-simulate --workload uneven --seeds 5

      kafkabal route-simulate --workload events --policy d-choices --policy key-hash -o json
    """
    if plot is not None:
        from kafkabal.reporting.simulation_plots import check_plot

        check_plot(plot)
    # check options before contacting a cluster; without options to check, contact a cluster before importing numpy
    check_are_measured(unchecked_scores(settings), settings, rates=False, latency=True)
    is_plain = (policy, workload_options, training_options) == (None, WorkloadOptions(), TrainingOptions())
    state = _read_state(settings, context) if is_plain and topic is not None else None
    from kafkabal.reporting.route_simulation_report import route_simulation_report
    from kafkabal.routing import Input, load_policy, policy_names
    from kafkabal.simulator import PolicyComparison, SimulationOptions, compare

    choices = [load_policy(text) for text in policy or policy_names()]
    _expect_once([choice.label for choice in choices])
    check_scores_route(choices, context)
    if not any(choice.may_use(Input.RACKS) for choice in choices):
        refuse_without("a policy that uses it", ["--rack"], context, hint="add --policy rack-local")
    workload_file, training = workload_options.load(), training_options.load()
    if topic is None and workload_file.cluster is not None:
        hint = "it describes its own cluster: add --topic NAME for a topic of yours"
        refuse_beside(f"--workload {workload_options.workload}", OF_CLUSTER, context, hint)
    view = _view(workload_file, topic, state, settings, context)
    _expect_rack(training_options.rack, view)
    _expect_brokers(workload_file, training, training_options.training, view)
    options = SimulationOptions(delivery=latency, rack=training_options.rack)
    compared = []
    for runs in compare(view, choices, workload_file.workload, range(seeds), options):
        context.detail(f"{runs.label}: done")
        compared.append(runs)
    simulated = PolicyComparison.ranked(view, workload_file.workload, compared, training)
    if plot is not None:
        from kafkabal.reporting.simulation_plots import plot_simulation

        plot_simulation(simulated, plot)
        context.say(f"wrote the plot to {plot}")
    show_report(route_simulation_report(simulated), output, context)


def _expect_brokers(
    workload_file: "WorkloadFile", training: "Mapping[str, TrainingSetup]", file: Path | None, view: "RoutingView"
) -> None:
    from kafkabal.input_files import naming_file

    with naming_file(workload_file.origin):
        workload_file.workload.check_brokers(view.broker_id)
    for each in training.values():
        # without a file, no broker has a rate of its own
        with naming_file(file or ""):
            each.check_brokers(view.broker_id)


def _read_state(settings: Settings, context: CommandContext) -> "ClusterState":
    report_chosen_sandbox(settings, context)
    with open_cluster(settings, context) as cluster:
        return read_cluster(cluster, settings, context, FOR_REPORTS).state


def _view(
    workload_file: "WorkloadFile",
    topic: str | None,
    state: "ClusterState | None",
    settings: Settings,
    context: CommandContext,
) -> "RoutingView":
    """The topic at the start: a real one if named, else the one described in the workload."""
    from kafkabal.routing import view_of
    from kafkabal.scoring import Need
    from kafkabal.simulator import TOPIC, build_workload_cluster

    scores = unchecked_scores(settings, default=DEFAULT_ROUTED_SCORES)
    if topic is None and workload_file.cluster is not None:
        return view_of(build_workload_cluster(workload_file.cluster), TOPIC, scores, supplied=[Need.TELEMETRY])
    state = state or _read_state(settings, context)
    return view_of(state, topic or _only_topic(state), scores, supplied=[Need.TELEMETRY])


def _expect_once(labels: "Sequence[str]") -> None:
    twice = [label for i, label in enumerate(labels) if label in labels[:i]]
    if twice:
        # two equal rows of a table tell nothing; --seeds repeats a simulation
        raise UsageError(f"--policy: duplicate policy: {twice[0]!r}")


def _expect_rack(rack: str | None, view: "RoutingView") -> None:
    if rack is not None and rack not in view.racks:
        listed = first_of(view.racks) or "none"
        raise UsageError(f"--rack: unknown rack: {rack!r}", hint=f"racks of this cluster: {listed}")


def _only_topic(state: "ClusterState") -> str:
    own = [name for name, internal in zip(state.topics.name, state.topics.internal, strict=True) if not internal]
    if len(own) == 1:
        return own[0]
    if not own:
        raise UsageError("the cluster has no topic to write to", hint="create one, or name a --workload with a cluster")
    raise UsageError("no topic given and the cluster has several", hint="add --topic NAME")
