from .cluster import ZookeeperCluster as ZookeeperCluster
