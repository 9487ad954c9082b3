"""Kubernetes objects into Slurm jobs, pure: what a pod or a gang asks, where it may run, why it can't.

What flows in: JSON mappings as the API server gives them, read once into frozen dataclasses, and a
`world.World` (nodes, devices, tenants, other objects). What flows out: a `verdict.Verdict`. No client, no
clock, no writes; what the choices are is in ``docs/reference/pod-translation.md``.
"""
