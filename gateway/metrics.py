"""Prometheus metrics of the gateway, in a registry of their own. Names: ``sluice_...``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


class Refusals(Collector):
    """What job_submit.lua refused, or would have: the counts are the bridge's, and are shown as they are."""

    def __init__(self) -> None:
        self.counts: Mapping[tuple[str, str, str], int] = {}
        """By tenant (empty for users of none), rule and mode."""

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Give Prometheus the counts."""
        family = CounterMetricFamily(
            "sluice_policy_refusals",
            "Jobs that the tenants' rules refused, by mode: below enforce they went on all the same.",
            labels=("tenant", "rule", "mode"),
        )
        for labels, count in sorted(self.counts.items()):
            family.add_metric(labels, count)
        yield family


class Metrics:
    """All of them; labels never carry a user, a job or a secret."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "sluice_http_requests",
            "HTTP requests by route template, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "sluice_http_request_duration_seconds",
            "Time to the end of the answer.",
            ("route", "method"),
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=self.registry,
        )
        self.submissions = Counter(
            "sluice_submissions",
            "Submissions over HTTP by outcome: submitted, found, or the error's code.",
            ("outcome",),
            registry=self.registry,
        )
        self.replays = Counter(
            "sluice_intent_replays", "Intents submitted again after a crash.", registry=self.registry
        )
        self.mirror_age = Gauge(
            "sluice_mirror_age_seconds",
            "Age of the last whole listing of slurmctld.",
            registry=self.registry,
        )
        self.poll_seconds = Histogram(
            "sluice_mirror_poll_duration_seconds",
            "Time of one listing, taken into the mirror.",
            registry=self.registry,
        )
        self.jobs = Gauge("sluice_jobs", "Unsettled jobs by base state.", ("state",), registry=self.registry)
        self.refusals = Refusals()
        self.registry.register(self.refusals)
        self.table_current = Gauge(
            "sluice_policy_table_current",
            "0: slurmctld can't read the newest table and judges by an older one or none. NaN: unknown.",
            registry=self.registry,
        )
        self.tenants_age = Gauge(
            "sluice_tenants_age_seconds", "Age of the tenant documents.", registry=self.registry
        )
        self.accounting_age = Gauge(
            "sluice_accounting_age_seconds",
            "Age of the last complete scan of slurmdbd.",
            registry=self.registry,
        )
