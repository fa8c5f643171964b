"""What only developers run: generated reference, drawn damage, lock files of the sandbox, the picture in the README."""
