"""Speaks to a Kubernetes API server: objects as plain JSON, one port, errors as `bridge.errors`.

What flows in: kinds and objects. What flows out: objects as the server answers them. What doesn't belong
here: what the objects mean (`bridge.tenants`).
"""
