from .cluster import InMemoryCluster as InMemoryCluster
from .fault_injection import Call as Call
from .fault_injection import FaultyCluster as FaultyCluster
