"""A live Apache Kafka cluster, reached with the messages of kafka-python over connections of our own.

``connection`` talks to one broker, ``client`` to the right one; on these build one module per kind of request, and
``cluster`` combines them into a :class:`~kafkabal.clusters.cluster_protocol.Cluster`.
"""

import warnings

import lazy_loader

from kafkabal.clusters.kafka.defer_kafka_python_import import defer_clients

defer_clients()
# how kafka-python reads its schemas; as an error, as under pytest -W error, it would keep a producer from its views
for _module in (r"kafka\.protocol\.", r"importlib\.resources\."):
    warnings.filterwarnings("ignore", r"(read|open)_text is deprecated", DeprecationWarning, _module)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
