"""Developer tools: generated reference, fuzzing, model checks, lock files of the sandbox, the picture in the README."""
