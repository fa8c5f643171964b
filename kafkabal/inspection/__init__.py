"""What is known of a cluster and how balanced it is: figures, scores, verdict."""
