"""What one wants to know of a sweep, in words: which scale still passes, which checkpoint fails, what is noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from loracheck.scoring.statistics import mcnemar_p, pair
from loracheck.sweeping.results import UNQUANTIZED, Axis, Curve, Shape, Step, SweepCell, right_answers
from loracheck.text import byte_size, percent, small

_Answers = Mapping[tuple[str, str], bool]


# Curves


def curves_of(cells: Sequence[SweepCell]) -> Iterator[Curve]:
    """The cells that differ in one thing alone: the scale, the checkpoint of a run, or the quantization."""
    for axis, place in _PLACES.items():
        alike: dict[tuple[object, ...], list[int]] = {}
        for number, cell in enumerate(cells):
            if axis != "checkpoint" or cell.run is not None:
                alike.setdefault(_but(axis, cell), []).append(number)
        for along in alike.values():
            if len(along) > 1:
                ordered = sorted(along, key=lambda number: place(cells[number]))
                yield _curve(axis, _of(axis, cells[along[0]], cells), ordered, cells)


_PLACES: dict[Axis, Callable[[SweepCell], float]] = {
    "scale": lambda cell: cell.scale,
    "checkpoint": lambda cell: math.inf if cell.checkpoint is None else cell.checkpoint,
    # From the base as it is to the smallest file.
    "quantization": lambda cell: -math.inf if cell.quantization is None else -(cell.size_bytes or 0),
}


def _but(axis: Axis, cell: SweepCell) -> tuple[object, ...]:
    """What cells on one curve have in common."""
    return (
        cell.base,
        None if axis == "quantization" else cell.quantization,
        cell.run if axis == "checkpoint" else cell.adapter,
        None if axis == "scale" else cell.scale,
    )


def _of(axis: Axis, cell: SweepCell, cells: Sequence[SweepCell]) -> str:
    """The same in words: no more than it takes."""
    words = str(cell.run) if axis == "checkpoint" else cell.adapter
    if axis != "scale" and len({each.scale for each in cells}) > 1:
        words += f" at scale {cell.scale:g}"
    if len({each.base for each in cells}) > 1:
        words += f" on {cell.base}"
    if axis != "quantization" and len({each.quantization for each in cells}) > 1:
        words += f" on {cell.quantization or 'the unquantized base'}"
    return words


def _curve(axis: Axis, of: str, along: Sequence[int], cells: Sequence[SweepCell]) -> Curve:
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
        yield from _SENTENCES[curve.axis](curve, along)
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


def _quantizations(curve: Curve, along: Sequence[SweepCell]) -> Iterator[str]:
    """Those of one base, the largest file first."""
    quantized = [cell for cell in along if cell.quantization]
    passing = [cell for cell in quantized if cell.passed]
    if not passing:
        if any(cell.verdict == "fail" for cell in quantized):
            yield f"{curve.of}: no quantization passes."
        return
    smallest = passing[-1]
    size = f" ({byte_size(smallest.size_bytes)})" if smallest.size_bytes else ""
    larger = quantized[: quantized.index(smallest)]
    failing = [str(cell.quantization) for cell in larger if cell.verdict == "fail"]
    but = f", but {_listed(failing)}, which {'is' if len(failing) == 1 else 'are'} larger, fails" if failing else ""
    yield f"{curve.of}: the smallest quantization that passes is {smallest.quantization}{size}{but}."


_SENTENCES: dict[Axis, Callable[[Curve, Sequence[SweepCell]], Iterator[str]]] = {
    "scale": _scales,
    "checkpoint": _checkpoints,
    "quantization": _quantizations,
}


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
    if curve.axis == "quantization":
        return cell.quantization or UNQUANTIZED
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
