"""From a topic to the trainer: one deterministic order of samples, shared by any number of readers."""
