"""The broker plug-in that forwards what clients push (KIP-714): its Java source, and the build of its jar."""
