from .api import ClusterConnection as ClusterConnection
from .api import apply_plan as apply_plan
from .api import connect as connect
from .api import inspect_cluster as inspect_cluster
from .api import make_plan as make_plan
from .api import place_topics as place_topics
from .api import simulate_policies as simulate_policies
from .api import verdict as verdict
from .clusters.snapshot import write_snapshot as write_snapshot
from .config.topic_specs import TopicSpec as TopicSpec
from .plan.plan_file import read_plan as read_plan
from .plan.plan_file import write_plan as write_plan
from .producer.async_producer import AsyncProducer as AsyncProducer
from .producer.drop_in_producer import Producer as Producer
from .producer.drop_in_producer import SerializingProducer as SerializingProducer
from .producer.routing_metrics import RoutingCollector as RoutingCollector

__version__: str
