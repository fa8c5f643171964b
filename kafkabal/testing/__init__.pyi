from .cluster_builders import brokers as brokers
from .cluster_builders import cluster as cluster
from .cluster_builders import partition as partition
from .synthetic_clusters import World as World
from .synthetic_clusters import make_world as make_world
