"""Fuzzes the command line with damaged files and wrong words, drawn from a seed: no case may end in a traceback."""
