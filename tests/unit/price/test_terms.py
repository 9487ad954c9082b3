from __future__ import annotations

from bridge.policy.tenant import Tenant
from gateway.price.terms import Segment, Terms, changed_terms, guarantee_steps, segments


def tenant(name: str = "astro", *, guarantee: int = 2, book: str | None = None) -> Tenant:
    return Tenant.model_validate(
        {"name": name, "flavors": {"h100": {"guarantee": guarantee, "limit": 8}}, "price_book": book}
    )


def test_terms_are_written_when_they_change_and_only_then() -> None:
    first = changed_terms({}, [tenant()], now_s=10)
    assert first == (Terms(tenant="astro", since_s=10, book="default", guarantees={"h100": 2}),)
    known = {"astro": first[0]}
    assert changed_terms(known, [tenant()], now_s=20) == ()
    assert changed_terms(known, [tenant(guarantee=3)], now_s=20)[0].guarantees == {"h100": 3}
    assert changed_terms(known, [tenant(book="gold")], now_s=20)[0].book == "gold"


def test_a_removed_tenant_has_no_guarantee_any_more() -> None:
    known = {"astro": Terms(tenant="astro", since_s=10, guarantees={"h100": 2})}
    gone = changed_terms(known, [], now_s=20)
    assert gone == (Terms(tenant="astro", since_s=20),)
    assert changed_terms({"astro": gone[0]}, [], now_s=30) == ()


def test_a_period_is_cut_where_the_book_changes() -> None:
    history = [
        Terms(tenant="astro", since_s=50, book="silver"),
        Terms(tenant="astro", since_s=60, book="silver", guarantees={"h100": 1}),
        Terms(tenant="astro", since_s=70, book="gold"),
    ]
    cut = segments({"astro": history}, ["astro", "site"], start_s=0, end_s=100)
    assert set(cut) == {
        Segment("silver", 0, 70, frozenset({"astro"})),
        Segment("gold", 70, 100, frozenset({"astro"})),
        Segment("default", 0, 100, frozenset({"site"})),
    }


def test_what_came_before_the_period_holds_in_it() -> None:
    history = [Terms(tenant="astro", since_s=5, book="old"), Terms(tenant="astro", since_s=9, book="new")]
    assert segments({"astro": history}, ["astro"], start_s=10, end_s=20) == (
        Segment("new", 10, 20, frozenset({"astro"})),
    )


def test_the_guarantee_of_a_flavor_over_time() -> None:
    history = [
        Terms(tenant="astro", since_s=5, guarantees={"h100": 2}),
        Terms(tenant="astro", since_s=9, guarantees={"a100": 1}),
    ]
    assert [(step.since_s, step.gpus) for step in guarantee_steps(history, "h100")] == [(5, 2), (9, 0)]
