from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bridge.wellknown import CLASSES
from gateway.price.coverage import OTHER, Held, Step, covered

moments = st.integers(0, 40)
holds = st.lists(
    st.builds(
        lambda start, length, job_class, gpus: Held(start, start + length, job_class, gpus),
        moments,
        st.integers(0, 20),
        st.sampled_from((*CLASSES, OTHER, "site")),
        st.integers(1, 8),
    ),
    max_size=8,
)
steps = st.lists(
    st.builds(Step, moments, st.integers(0, 10)), max_size=4, unique_by=lambda step: step.since_s
)
borders = st.lists(moments, min_size=2, max_size=5, unique=True).map(sorted)


def by_hand(held: list[Held], guarantee: list[Step], borders_s: list[int]) -> dict[tuple[int, str], int]:
    """Second by second, as the rule says it."""
    sums: dict[tuple[int, str], int] = {}
    for span, (lo_s, hi_s) in enumerate(pairwise(borders_s)):
        for second in range(lo_s, hi_s):
            known = [
                step for step in sorted(guarantee, key=lambda step: step.since_s) if step.since_s <= second
            ]
            left = known[-1].gpus if known else 0
            for name in (*CLASSES, OTHER):
                names = {name} if name else {OTHER, "site"}
                used = sum(
                    each.gpus
                    for each in held
                    if each.start_s <= second < each.end_s and each.job_class in names
                )
                taken = min(used, left)
                left -= taken
                if taken:
                    sums[span, name] = sums.get((span, name), 0) + taken
    return sums


@given(holds, steps, borders)
def test_it_is_the_sum_of_all_seconds(held: list[Held], guarantee: list[Step], borders_s: list[int]) -> None:
    assert covered(held, guarantee, borders_s=borders_s) == by_hand(held, guarantee, borders_s)


@given(holds, steps, borders, st.data())
def test_a_correction_takes_back_all_of_it(
    held: list[Held], guarantee: list[Step], borders_s: list[int], data: st.DataObject
) -> None:
    wrong = data.draw(holds)
    back = [Held(each.start_s, each.end_s, each.job_class, -each.gpus) for each in wrong]
    mixed = data.draw(st.permutations([*held, *wrong, *back]))
    assert covered(mixed, guarantee, borders_s=borders_s) == covered(held, guarantee, borders_s=borders_s)


def test_production_is_covered_before_training() -> None:
    held = [Held(0, 10, "training", 4), Held(5, 10, "production", 3)]
    assert covered(held, [Step(0, 4)], borders_s=[0, 10]) == {
        (0, "training"): 4 * 5 + 1 * 5,
        (0, "production"): 15,
    }
