"""The answer to "which padding do I need": in text, as a figure, and as data for programs."""

import textwrap
from typing import Any, Dict, List, Optional, Tuple

from ..picture import svg, text
from ..picture.windows import Windows
from .frameworks import AXES, Advice, Case, advise, times
from .lowered import Lowering, lowerings, measured, operator_padding

__all__ = ["Report"]

WIDTH = 80


class Report:
    """The answer to one question. Printed, it is text; shown in a notebook, the figure.

    Parameters
    ----------
    case : Case
    measure : bool
        Whether to run the layer in all its ways on this machine.

    Raises
    ------
    TypeError, ValueError
        If a window does not fit the axis.

    Examples
    --------
    >>> report = Report(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool'))
    >>> print(report.headline)
    MaxPool2D 2x2, stride 1, padding='same': 13x13 -> 13x13
    >>> report.facts()['axes'][0]['padding']
    [0, 1]
    """

    def __init__(self, case: Case, measure: bool = False):
        self.case = case
        self.seconds: Optional[Dict[str, float]] = measured(case) if measure else None
        self.out = case.out
        self.advice: List[Advice] = advise(case)
        self.lowerings: Tuple[Lowering, Lowering] = lowerings(case)
        axes = zip(
            case.sizes,
            case.kernel,
            case.stride,
            case.dilation,
            case.pads,
            operator_padding(case),
            case.extra,
        )
        self.pictures = [Windows(*axis, case.op == "transpose") for axis in axes]

    @property
    def headline(self) -> str:
        """The question and the output size, in a line."""
        case = self.case
        name = self.advice[0].say.split("(")[0].replace("nn.", "")
        words = [f"{name} {times(case.kernel)}", f"stride {_short(case.stride)}"]
        if max(case.dilation) > 1:
            words.append(f"dilation {_short(case.dilation)}")
        words.append(f"padding={case.mode!r}")
        return f"{', '.join(words)}: {times(case.sizes)} -> {times(self.out)}"

    def __str__(self) -> str:
        parts = [self._table(), self._told(), self._served(), self._measured(), self._drawn()]
        return "\n\n".join("\n".join(part) for part in parts if part)

    __repr__ = __str__

    def svg(self) -> str:
        """The pictures of all axes as one SVG document."""
        return svg.draw([(heading, picture) for heading, picture in self._panels()], self.headline)

    _repr_svg_ = svg

    def facts(self) -> Dict[str, Any]:
        """All of it for programs, as JSON has it.

        Returns
        -------
        dict
            ``op``, ``mode``, ``average``, ``channels``, ``filters``, ``batch``, ``input`` and
            ``output``: what was asked, and the sizes.

            ``axes``: for each axis ``name``, ``size``, ``kernel``, ``stride``, ``dilation``, ``span``,
            ``output``, ``padding`` [before, after] (of a transposed convolution, what is cut off),
            ``extra`` (what it adds at the end), ``operator`` (the padding that the operator sees),
            ``windows`` and ``dropped`` (how many are computed, and not kept), and ``drawn``: of each
            window in the picture, ``first`` (its first tap, 0 the first element of the axis), ``taps``,
            and ``kept``.

            ``tell``: for each of ``gluon_same``, ``TensorFlow``, ``ONNX``, ``PyTorch``, ``stock Gluon``
            the words, ``say``, and the ``arguments``.

            ``lowering``: for ``this_size`` and ``every_size`` the ``words``, the plan's ``axes``, the
            graph's ``operators``, windows ``computed`` and ``kept``, and the elements ``copied`` for
            each channel (null where that depends on the size).

            ``seconds``: of each way that was measured, null where none was asked for.
        """
        case = self.case
        forms = dict(zip(("this_size", "every_size"), self.lowerings))
        return {
            "op": case.op,
            "mode": case.mode,
            "average": case.average,
            "channels": case.channels,
            "filters": case.filters,
            "batch": case.batch,
            "input": list(case.sizes),
            "output": list(self.out),
            "axes": [self._axis(i) for i in range(case.ndim)],
            "tell": {a.framework: {"say": a.say, "arguments": a.arguments} for a in self.advice},
            "lowering": {name: form._asdict() for name, form in forms.items()},
            "seconds": self.seconds,
        }

    def _axis(self, i):
        case, picture = self.case, self.pictures[i]
        drawn = [row for row in picture.rows() if row is not None]
        return {
            "name": AXES[case.ndim][i],
            "size": case.sizes[i],
            "kernel": case.kernel[i],
            "stride": case.stride[i],
            "dilation": case.dilation[i],
            "span": picture.span,
            "output": self.out[i],
            "padding": list(case.pads[i]),
            "extra": case.extra[i],
            "operator": list(picture.operator),
            "windows": picture.count,
            "dropped": picture.dropped,
            "drawn": [{"first": r.start, "taps": len(r.taps), "kept": r.kept} for r in drawn],
        }

    def _table(self):
        case = self.case
        cut = case.op == "transpose"
        ends = ["cut before", "cut after", "added"] if cut else ["before", "after"]
        titles = ["in", "window", "stride", "dilation", "out", *ends]
        rows = []
        for i, name in enumerate(AXES[case.ndim]):
            numbers = [case.sizes[i], case.kernel[i], case.stride[i], case.dilation[i], self.out[i]]
            rows.append([name, *numbers, *case.pads[i], *([case.extra[i]] if cut else [])])
        lines = [*_wrapped(self.headline), ""]
        for first, *cells in [["axis", *titles], *rows]:
            line = f"{first:<8}"
            for title, cell in zip(titles, cells):
                line += f"{cell:>{max(len(title), 5) + 2}}"
            lines.append(line)
        return lines

    def _told(self):
        lines = ["What to say"]
        for advice in self.advice:
            lines += _entry(advice.framework, advice.say)
        return lines

    def _served(self):
        this, every = self.lowerings
        channels = ""
        if self.case.op == "conv":
            case = self.case
            channels = f", {case.channels} > {case.filters} channels, batch {case.batch}"
        lines = [f"What gluon_same does with it{channels}"]
        if this == every:
            return lines + _entry("every size", "; ".join(this.words)) + _entry("it costs", this.cost())
        forms = (
            ("this size", "eager or specialized", this),
            ("every size", "hybridized or exported", every),
        )
        for name, where, form in forms:
            lines += _entry(name, f"({where}) {'; '.join(form.words)}") + _entry("", form.cost())
        return lines

    def _measured(self):
        if self.seconds is None:
            return []
        batch, best = self.case.batch, min(self.seconds.values(), default=None)
        lines = [f"What it takes here, alone, at batch {batch}"]
        if best is None:
            return lines + _entry("", "nothing to choose from: one operator serves it")
        for way, seconds in self.seconds.items():
            mark = "  < the fastest" if seconds == best else ""
            lines.append(f"  {way:<14}{seconds * 1e3:9.3f} ms{mark}")
        return lines

    def _drawn(self):
        lines = []
        for heading, picture in self._panels():
            lines += [heading, "", text.draw(picture), ""]
        cells, windows = {}, {}
        for picture in self.pictures:
            for found, all_ in zip(picture.meanings(), (cells, windows)):
                all_.update(found)
        return lines + [
            "   ".join(f"{m} {what}" for m, what in part.items()) for part in (cells, windows)
        ]

    def _panels(self):
        """Each picture under the names of the axes that it serves."""
        alike = {}
        for name, picture in zip(AXES[self.case.ndim], self.pictures):
            alike.setdefault(tuple(vars(picture).items()), (picture, []))[1].append(name)
        for picture, names in alike.values():
            joined = " and ".join(", ".join(names).rsplit(", ", 1))
            ends = "cut off" if picture.transposed else "of padding"
            told = f"{picture.before} {ends} before, {picture.after} after"
            yield f"{joined}: {picture.in_size} -> {self._out_of(picture)}, {told}", picture

    def _out_of(self, picture):
        return picture.size if picture.transposed else picture.out


def _short(values):
    return str(values[0]) if len(set(values)) == 1 else times(values)


def _entry(name, words):
    return _wrapped(f"{' ':2}{name:<14}{words}", " " * 16)


def _wrapped(words, indent=""):
    return textwrap.wrap(
        words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
