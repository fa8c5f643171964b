"""What only developers run: the generated reference, lock files of the sandbox, the picture in the README."""
