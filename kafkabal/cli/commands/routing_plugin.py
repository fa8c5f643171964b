"""``kafkabal routing``: the partitioner for Java clients."""

from pathlib import Path
from typing import Annotated

import typer

from kafkabal.atomic_files import check_replaceable, target_name
from kafkabal.cli.framework.command_context import CommandContext


def plugin(
    context: CommandContext,
    jar: Annotated[
        Path,
        typer.Option("--out", metavar="FILE.jar", parser=check_replaceable, help="Path of the jar to write."),
    ],
) -> None:
    """Build the partitioner for Java producers, which follows published weights.

    Put the jar on the class path of the producer (Kafka Connect, Flink, Spark, or your own program) and set
    partitioner.class=kafkabal.routing.ScorePartitioner. 'kafkabal route TOPIC --publish' publishes the weights. The
    same jar serves clients since Kafka 3.0. Building needs 'kafkabal[sandbox]' and no JDK.

    Examples:

      kafkabal routing plugin --out kafkabal-routing.jar
    """
    from kafkabal.routing import PARTITIONER_CLASS, build_partitioner
    from kafkabal.sandbox import cache_of, ensure_client_jars, ensure_java_compiler, java_binary

    cache = cache_of(context.cache_dir)
    class_path = ensure_client_jars(cache, on_step=context.say)
    compiler = ensure_java_compiler(cache, on_step=context.say)
    build_partitioner(jar, class_path, java=java_binary(), compiler=compiler)
    context.say(
        f"wrote the jar to {target_name(jar)}: add it to the class path of producers and set "
        f"partitioner.class={PARTITIONER_CLASS}"
    )
