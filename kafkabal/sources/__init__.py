"""Where records come from: a folder of files, or the rows of one file or of standard input."""
