"""What one wants to know of a sweep, in words: which scale still passes, which checkpoint fails, what is noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from loracheck.scoring.statistics import mcnemar_p, pair
from loracheck.sweeping.results import Curve, Shape, Step, SweepCell, right_answers
from loracheck.text import percent, small

_Answers = Mapping[tuple[str, str], bool]


# Curves


def curves_of(cells: Sequence[SweepCell]) -> Iterator[Curve]:
    """Along the scales of each stack on each base, and along the checkpoints of each run at each scale."""
    scales: dict[tuple[str, ...], list[int]] = {}
    checkpoints: dict[tuple[str, ...], list[int]] = {}
    for number, cell in enumerate(cells):
        scales.setdefault((cell.adapter, cell.base), []).append(number)
        if cell.run is not None:
            # The same other adapters in a stack, or none.
            checkpoints.setdefault((cell.run, f"{cell.scale:g}", cell.base), []).append(number)
    many_bases = len({cell.base for cell in cells}) > 1
    many_scales = len({cell.scale for cell in cells}) > 1
    for (adapter, base), along in scales.items():
        if len(along) > 1:
            ordered = sorted(along, key=lambda number: cells[number].scale)
            yield _curve("scale", f"{adapter} on {base}" if many_bases else adapter, ordered, cells)
    for (run, scale, base), along in checkpoints.items():
        if len(along) > 1:
            of = run + (f" at scale {scale}" if many_scales else "") + (f" on {base}" if many_bases else "")
            ordered = sorted(along, key=lambda number: _step(cells[number]))
            yield _curve("checkpoint", of, ordered, cells)


def _step(cell: SweepCell) -> float:
    return float("inf") if cell.checkpoint is None else cell.checkpoint


def _curve(axis: Literal["scale", "checkpoint"], of: str, along: Sequence[int], cells: Sequence[SweepCell]) -> Curve:
    judged = [answers for number in along if (answers := _answers(cells[number], cells))]
    steps = tuple(_compare(before, after) for before, after in pairwise(judged))
    whole = _compare(judged[0], judged[-1]) if len(judged) > 1 else None
    shape = _shape((*steps, whole)) if whole else None
    return Curve(axis=axis, of=of, cells=tuple(along), steps=steps, whole=whole, shape=shape)


def _answers(cell: SweepCell, cells: Sequence[SweepCell]) -> _Answers | None:
    """What a cell got right; a cell without effect gets right what its base does."""
    if cell.report:
        return right_answers(cell.report)
    if cell.has_effect:
        return None
    beside = next((other.report for other in cells if other.base == cell.base and other.report), None)
    return right_answers(beside, base=True) if beside else None


def _compare(before: _Answers, after: _Answers) -> Step:
    shared = [case for case in before if case in after]
    paired = pair((before[case] for case in shared), (after[case] for case in shared))
    return Step(lost=paired.lost, gained=paired.gained, mcnemar_p=mcnemar_p(paired.lost, paired.gained))


def _shape(steps: Sequence[Step]) -> Shape:
    """By the steps, and by the whole way, that chance does not explain."""
    sure = [step for step in steps if not step.is_noise]
    falls, rises = any(step.lost > step.gained for step in sure), any(step.gained > step.lost for step in sure)
    if falls and rises:
        return "not monotone"
    return "falls" if falls else "rises" if rises else "flat"


# Sentences


def findings_of(cells: Sequence[SweepCell], curves: Sequence[Curve]) -> Iterator[str]:
    for curve in curves:
        along = [cells[number] for number in curve.cells]
        yield from _scales(curve, along) if curve.axis == "scale" else _checkpoints(curve, along)
        yield from _course(curve, along)
    yield from _bases(cells)
    yield from _adapters(cells)
    if not any(cell.has_effect for cell in cells):
        yield "No cell has an effect: each computes what its base does."


def _scales(curve: Curve, along: Sequence[SweepCell]) -> Iterator[str]:
    passing = [cell.scale for cell in along if cell.passed]
    failing = [cell.scale for cell in along if cell.verdict == "fail"]
    if not passing:
        if failing:
            yield f"{curve.of}: no scale passes."
        return
    largest = max(passing)
    if not failing:
        yield f"{curve.of}: every scale that was judged passes, up to {largest:g}."
        return
    below = [scale for scale in failing if scale < largest]
    but = f", but {_listed(below)} below it {'fails' if len(below) == 1 else 'fail'}" if below else ""
    yield f"{curve.of}: the largest scale that passes is {largest:g}{but}."


def _checkpoints(curve: Curve, along: Sequence[SweepCell]) -> Iterator[str]:
    failing = [number for number, cell in enumerate(along) if cell.verdict == "fail"]
    passing = [number for number, cell in enumerate(along) if cell.passed]
    if not failing:
        if passing:
            yield f"{curve.of}: every checkpoint that was judged passes."
        return
    first = failing[0]
    later = [along[number].adapter for number in passing if number > first]
    before = "the very first one that was judged" if not any(n < first for n in passing) else "those before it pass"
    but = f"; later, {_listed(later)} {'passes' if len(later) == 1 else 'pass'} again" if later else ""
    yield f"{curve.of}: the first checkpoint that fails is {along[first].adapter}, {before}{but}."


def _course(curve: Curve, along: Sequence[SweepCell]) -> Iterator[str]:
    """Whether the curve goes one way, or only up and down by chance."""
    if curve.shape is None or curve.whole is None:
        return
    known = [cell for cell in along if cell.figures.right_calls is not None]
    first, last = (f"{percent(cell.figures.right_calls)} at {_place(curve, cell)}" for cell in (known[0], known[-1]))
    way = f"{curve.of}: right calls go from {first} to {last}"
    noisy = sum(step.is_noise and step.lost != step.gained for step in curve.steps)
    if curve.shape == "flat":
        rest = (
            "no answer changes between right and wrong"
            if not noisy and not curve.whole.lost + curve.whole.gained
            else "what moves between neighbours is noise (McNemar p of 0.05 or more)"
        )
        yield f"{way}; {rest}."
    elif curve.shape == "not monotone":
        yield f"{way}, and not monotonely: {_sure_steps(curve, known)}."
    else:
        sure = _sure_steps(curve, known)
        beside = f"; {'one step' if noisy == 1 else f'{noisy} steps'} of the curve may be noise" if noisy else ""
        yield f"{way}: the curve {curve.shape} monotonely, {sure}{beside}."


def _sure_steps(curve: Curve, known: Sequence[SweepCell]) -> str:
    said = [
        f"{'down' if step.lost > step.gained else 'up'} from {_place(curve, before)} to {_place(curve, after)} "
        f"({step.lost} lost, {step.gained} gained: p {small(step.mcnemar_p)})"
        for step, (before, after) in zip(curve.steps, pairwise(known), strict=False)
        if not step.is_noise
    ]
    assert curve.whole is not None
    whole = f"over the whole way {curve.whole.lost} lost, {curve.whole.gained} gained: p {small(curve.whole.mcnemar_p)}"
    return ", ".join(said) or whole


def _place(curve: Curve, cell: SweepCell) -> str:
    if curve.axis == "scale":
        return f"{cell.scale:g}"
    return "the end" if cell.checkpoint is None else f"{cell.checkpoint}"


def _bases(cells: Sequence[SweepCell]) -> Iterator[str]:
    bases = list(dict.fromkeys(cell.base for cell in cells))
    if len(bases) > 1:
        failing = {cell.base for cell in cells if cell.has_effect and not cell.passed}
        passing = [base for base in bases if base not in failing]
        yield f"Bases on which every cell passes: {_listed(passing) or 'none'}, of {len(bases)}."


def _adapters(cells: Sequence[SweepCell]) -> Iterator[str]:
    """Of alternatives that are no checkpoints of one run."""
    names = list(dict.fromkeys(cell.adapter for cell in cells))
    if len(names) < 2 or all(cell.run is not None for cell in cells):
        return
    passing = [name for name in names if any(cell.passed for cell in cells if cell.adapter == name)]
    yield f"Adapters that pass somewhere: {_listed(passing) or 'none'}, of {len(names)}."


def _listed(values: Sequence[object], most: int = 6) -> str:
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    if len(texts) > most:
        return f"{', '.join(texts[:most])} and {len(texts) - most} more"
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)
