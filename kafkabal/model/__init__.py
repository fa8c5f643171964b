"""What a cluster is: immutable columns, the rows that they are built from, and questions that need nothing else."""
