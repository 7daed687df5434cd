"""The search for a budget in bytes finds the largest, and needs little memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from budgetron.estimators._base.byte_budget import _most, _most_within


@given(
    constant=st.integers(1, 5000),
    linear=st.sampled_from([1, 8, 100, 1000]),
    square=st.sampled_from([0, 0, 1, 8]),
    group=st.sampled_from([1, 16]),
    least=st.sampled_from([1, 2]),
    most=st.sampled_from([2, 100, 2**31 - 1]),
    more=st.integers(0, 10**9),
)
def test_the_largest_budget_is_found_from_below(
    constant: int, linear: int, square: int, group: int, least: int, most: int, more: int
) -> None:
    def cost(number: int) -> int:
        taken = -(-number // group) * group
        return constant + linear * taken + square * taken * taken

    asked: list[int] = []

    def asking(number: int) -> int:
        asked.append(number)
        return cost(number)

    limit = cost(least) + more
    found = _most_within(asking, limit, least, most)
    assert found == _most(lambda number: cost(number) <= limit, least, most)
    assert len(asked) <= 100
    if 8 * cost(32) < limit:
        assert max(map(cost, asked)) <= 1.5 * limit
