"""The cheapest way to pair two sides off, each with at most one of the other."""

from __future__ import annotations

from collections.abc import Sequence


def assign(costs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Pairs of a row and a column of `costs`, as many as there can be, that cost the least in all.

    The Hungarian method: the time grows with the shorter side, squared, times the longer. Costs are whole numbers, so
    that the least is exactly that.
    """
    if not costs or not costs[0]:
        return []
    if len(costs) > len(costs[0]):
        return [(row, column) for column, row in assign(list(zip(*costs, strict=True)))]
    pairing = _Pairing(costs)
    for row in range(len(costs)):
        pairing.take_in(row)
    return sorted(pairing.column_of.items())


class _Pairing:
    """Rows with a column each, at the least cost for these rows.

    Every row and column has a price. No pair costs less than its two prices, and those in the pairing cost just that,
    which is why no other pairing can be cheaper.
    """

    def __init__(self, costs: Sequence[Sequence[int]]) -> None:
        self._costs = costs
        self._row_prices = [0] * len(costs)
        self._column_prices = [0] * len(costs[0])
        self._row_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}

    def take_in(self, start: int) -> None:
        """Find the shortest way from this row to a free column, and let every row on it move one column on.

        A step is as long as its cost is above the prices.
        """
        prices = self._column_prices
        distances = [
            cost - self._row_prices[start] - price for cost, price in zip(self._costs[start], prices, strict=True)
        ]
        came_from = [start] * len(prices)
        ahead = list(range(len(prices)))
        passed: list[int] = []
        while (nearest := min(ahead, key=distances.__getitem__)) in self._row_of:
            ahead.remove(nearest)
            passed.append(nearest)
            row = self._row_of[nearest]
            costs, above = self._costs[row], distances[nearest] - self._row_prices[row]
            for column in ahead:
                distance = above + costs[column] - prices[column]
                if distance < distances[column]:
                    distances[column], came_from[column] = distance, row

        self._row_prices[start] += distances[nearest]
        for column in passed:
            spared = distances[nearest] - distances[column]
            self._row_prices[self._row_of[column]] += spared
            prices[column] -= spared
        self._move_on(start, nearest, came_from)

    def _move_on(self, start: int, column: int, came_from: Sequence[int]) -> None:
        row = came_from[column]
        while row != start:
            left = self.column_of[row]
            self._row_of[column], self.column_of[row] = row, column
            column, row = left, came_from[left]
        self._row_of[column], self.column_of[start] = start, column
