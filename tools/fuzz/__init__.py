"""Wrong files and wrong words for the command line, drawn from a seed: no case may end in a traceback."""
