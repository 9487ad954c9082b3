"""Fetches users and rules from the bridge into a pod's own folders (``python -m bridge.sync``)."""
