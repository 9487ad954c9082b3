"""Pods and their placeholder jobs kept in agreement: what both sides show -> what to do.

Pure but for what does the I/O around it. `view` is what is seen, `plan` decides, `actions` is what comes out;
`outcome` says how a pod ended, `grants` and `devices` which devices a grant is. Level-triggered: a plan needs
no memory of earlier plans, and what is done twice changes nothing.
"""
