"""Speed of routing and of simulating it, in records per second of processor time.

    python -m benchmarks.routing [--records 2000000] [--policy NAME]...

``route`` is the policy alone over prepared records; ``pick`` is one record at a time, as in the producer; ``simulate``
is everything from drawing records with log-normal sizes and Zipf keys to the figures of the outcome, without delivery;
``deliver`` is the same with batches, queues and acknowledgements. ``--compiled`` runs kernels in machine code, after a
short run that compiles them. Each figure is the best of three.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np

from kafkabal.routing import (
    Context,
    Feedback,
    PolicyChoice,
    RecordBatch,
    RoutingView,
    load_policy,
    policy_names,
    view_of,
)
from kafkabal.scoring import load_scores
from kafkabal.simulator import (
    TOPIC,
    Leaders,
    LogNormalSize,
    SimulationOptions,
    Workload,
    WorkloadCluster,
    ZipfKeys,
    build_workload_cluster,
    record_stream,
    simulate,
)

WORKLOAD = Workload(
    sizes=LogNormalSize(1000, 1.0), keys=ZipfKeys(10_000, 1.0), bytes_per_s=100e6, metrics_interval_s=5.0
)
# without machine code these are so slow that they get fewer records
SLOWER = 20
_TRIES = 3


def joined(workload: Workload) -> RecordBatch:
    """All records of a workload in one batch."""
    chunks = list(record_stream(workload, workload.key_table(1), 1))
    return RecordBatch(
        size_bytes=np.concatenate([chunk.size_bytes for chunk in chunks]),
        key=np.concatenate([chunk.key for chunk in chunks if chunk.key is not None]),
        keys=chunks[0].keys,
        at_s=np.concatenate([chunk.at_s for chunk in chunks if chunk.at_s is not None]),
    )


def calibration_per_s() -> float:
    """Random numbers per second that this core draws now, for comparison with the other figures."""
    generator, out = np.random.default_rng(1), np.empty(100_000)
    return max(_rate(len(out), lambda: generator.random(out=out)) for _ in range(_TRIES))


def _rate(records: int, work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return records / (process_time() - started)


def routed_per_s(choice: PolicyChoice, view: RoutingView, records: RecordBatch, *, compiled: bool) -> float:
    """Records per second of the policy alone, best of several tries."""
    policy = choice.create(Context(seed=1, compiled=compiled))
    policy.refresh(view)
    out = np.empty(len(records), np.int32)
    policy.pick_batch(records[:1000], out[:1000])
    return max(_rate(len(records), lambda: policy.pick_batch(records, out)) for _ in range(_TRIES))


def picked_per_s(choice: PolicyChoice, view: RoutingView, records: RecordBatch) -> float:
    """Records per second, one at a time."""
    policy = choice.create(Context(seed=1))
    policy.refresh(view)
    assert records.key is not None
    assert records.keys is not None
    asked = [
        (records.keys[row], size) for row, size in zip(records.key.tolist(), records.size_bytes.tolist(), strict=True)
    ]

    def pick_all() -> None:
        for key, size in asked:
            policy.pick(key, size)

    return max(_rate(len(asked), pick_all) for _ in range(_TRIES))


def simulated_per_s(choice: PolicyChoice, view: RoutingView, workload: Workload, options: SimulationOptions) -> float:
    """Records per second from end to end, best of several tries."""
    if options.compiled:
        simulate(view, choice, replace(workload, records=1000), options)
    assert workload.records is not None
    return max(_rate(workload.records, lambda: simulate(view, choice, workload, options)) for _ in range(_TRIES))


def main() -> None:
    """Measure and print, in millions of records per second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--policy", action="append")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--deliver", action="store_true", help="measure delivery too; compiling it takes a while")
    arguments = parser.parse_args()
    print(f"calibration: rng.random {calibration_per_s() / 1e6:.0f} M numbers/s")
    cluster = build_workload_cluster(WorkloadCluster(brokers=6, leaders=Leaders.BROKERS_PLUS_2))
    view = view_of(cluster, TOPIC, load_scores(["disk"]))
    print(f"{'policy':18}{'route':>9}{'pick':>9}{'simulate':>10}{'deliver':>9}   M records/s")
    for name in arguments.policy or policy_names():
        choice = load_policy(name)
        free = arguments.compiled or choice.about.feedback is Feedback.NONE
        workload = replace(WORKLOAD, records=arguments.records if free else arguments.records // SLOWER)
        keyed = joined(workload)
        keyless = keyed if choice.about.keeps_key_order and name == "key-hash" else replace(keyed, key=None)
        plain = SimulationOptions(delivery=False, compiled=arguments.compiled)
        figures = [
            routed_per_s(choice, view, keyless, compiled=arguments.compiled),
            picked_per_s(choice, view, keyed[:50_000]),
            simulated_per_s(choice, view, workload, plain),
        ]
        if arguments.deliver:
            records = arguments.records if arguments.compiled else arguments.records // SLOWER
            options = replace(plain, delivery=True)
            figures.append(simulated_per_s(choice, view, replace(workload, records=records), options))
        cells = "".join(f"{figure / 1e6:>{width}.2f}" for figure, width in zip(figures, (9, 9, 10, 9), strict=False))
        print(f"{name:18}{cells}", flush=True)


if __name__ == "__main__":
    main()
