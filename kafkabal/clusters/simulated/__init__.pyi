from .clock import FakeClock as FakeClock
from .cluster import InMemoryCluster as InMemoryCluster
from .fault_injection import Call as Call
from .fault_injection import FaultyCluster as FaultyCluster
from .shared_cluster import SimulatedKafka as SimulatedKafka
