from .create_topics import TopicToCreate as TopicToCreate
from .create_topics import create_all as create_all
from .create_topics import validate as validate
from .placement_policy import parse_policy as parse_policy
from .placement_request import TopicExistsError as TopicExistsError
from .topic_placement import PlacedTopic as PlacedTopic
from .topic_placement import PlacedTopics as PlacedTopics
from .topic_placement import place_topics as place_topics
