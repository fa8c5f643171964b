"""What is generated from the commands themselves: completions, man pages, and the reference in ``docs/``.

``python -m kafkabal.cli.reference`` writes all of it anew; a test fails while any of it is out of date.
"""
