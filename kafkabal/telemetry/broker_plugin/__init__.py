"""The broker plug-in that hands on what clients push (KIP-714): its Java source, and how a jar is made of it."""
