from .cluster_builders import brokers as brokers
from .cluster_builders import cluster as cluster
from .cluster_builders import partition as partition
from .synthetic_clusters import SyntheticWorld as SyntheticWorld
from .synthetic_clusters import make_world as make_world
