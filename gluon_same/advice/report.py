"""The answer to "Which padding do I need?" as text, as a figure, and as data for programs."""

import textwrap
from typing import Any, Dict, List, Optional, Tuple

from ..picture import svg, text
from ..picture.windows import Windows
from .case import AXES, Advice, Case, times
from .frameworks import advise
from .lowered import Lowering, lowerings, operator_padding

__all__ = ["Report"]

WIDTH = 80


class Report:
    """The answer to one question: text if printed, a figure in a notebook.

    Parameters
    ----------
    case : Case
        The question.
    measure : bool
        Whether to time each way to compute the layer on this machine. Requires MXNet.
    verbose : bool
        Whether to count the operators of the layer's graphs. Requires MXNet.
    hint : str
        A sentence to print below the headline.

    Raises
    ------
    TypeError, ValueError
        If a window does not fit the axis, or the arguments do not fit each other.

    Examples
    --------
    >>> report = Report(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool'))
    >>> print(report.headline)
    MaxPool2D 2x2, stride 1, padding='same': 13x13 -> 13x13
    >>> report.facts()['axes'][0]['padding']
    [0, 1]
    """

    def __init__(self, case: Case, measure: bool = False, verbose: bool = False, hint: str = ""):
        case.check()
        self.case, self.hint = case, hint
        self.out = case.out
        self.advice: List[Advice] = advise(case)
        self.lowerings: Tuple[Lowering, Lowering] = lowerings(case)
        self.seconds: Optional[Dict[str, float]] = None
        self.operators: Tuple[Optional[Dict[str, int]], ...] = (None, None)
        if measure or verbose:
            from . import graphs  # here, because it imports MXNet, which takes a second

            self.seconds = graphs.measured(case) if measure else None
            self.operators = graphs.operators(case) if verbose else self.operators
        windows = zip(case.sizes, case.kernel, case.stride, case.dilation)
        extra = case.extra if case.op == "transpose" else [None] * len(case.sizes)
        ends = zip(case.pads, operator_padding(case), extra)
        self.pictures = [Windows(*window, *end) for window, end in zip(windows, ends)]

    @property
    def headline(self) -> str:
        """The question and the output size, in one line."""
        case = self.case
        name = self.advice[0].code[0].split("(")[0].replace("nn.", "")
        words = [f"{name} {times(case.kernel)}", f"stride {_short(case.stride)}"]
        if max(case.dilation) > 1:
            words.append(f"dilation {_short(case.dilation)}")
        if case.groups > 1:
            words.append(f"groups {case.groups}")
        words.append(f"padding={case.mode!r}")
        return f"{', '.join(words)}: {times(case.sizes)} -> {times(self.out)}"

    def __str__(self) -> str:
        parts = [self._table(), self._code(), self._computed(), self._measured(), self._drawn()]
        return "\n\n".join("\n".join(part) for part in parts if part)

    __repr__ = __str__

    def svg(self) -> str:
        """Draw the pictures of all axes as one SVG document."""
        return svg.draw([(heading, picture) for heading, picture in self._panels()], self.headline)

    _repr_svg_ = svg

    def facts(self) -> Dict[str, Any]:
        """Return the whole answer as data for programs, ready for JSON.

        Returns
        -------
        dict
            ``op``, ``mode`` (a word, or ``[before, after]`` for each axis), ``average``, ``channels``,
            ``filters``, ``groups``, ``batch``, ``input`` and ``output``: the question, and the sizes.

            ``axes``: for each axis ``name``, ``size``, ``kernel``, ``stride``, ``dilation``, ``span``,
            ``output``, ``padding`` [before, after] (for a transposed convolution, what is cut off),
            ``extra`` (what it adds at the end), ``operator`` (the padding that the operator receives),
            ``windows`` and ``dropped`` (how many are computed, and not kept), and ``drawn``: for each
            window in the picture, ``first`` (its first tap; 0 is the first element of the axis),
            ``taps``, and ``kept``.

            ``frameworks``: for each of ``gluon_same``, ``Keras``, ``TensorFlow``, ``ONNX``, ``PyTorch``
            and ``stock Gluon``, the ``code`` (one expression, or statements that set ``y``; empty if
            the framework has no such layer), a ``note``, and the ``arguments``.

            ``lowering``: for ``this_size`` and ``every_size`` the ``words``, the plan's ``axes``,
            windows ``computed`` and ``kept``, the elements ``copied`` for each channel (null if that
            depends on the size), and the graph's ``operators`` (null unless ``verbose``, because only
            MXNet can count them).

            ``seconds``: of each way that was measured; null unless ``measure``.
        """
        case = self.case
        forms = dict(zip(("this_size", "every_size"), self.lowerings))
        return {
            "op": case.op,
            "mode": case.mode,
            "average": case.average,
            "channels": case.channels,
            "filters": case.filters,
            "groups": case.groups,
            "batch": case.batch,
            "input": list(case.sizes),
            "output": list(self.out),
            "axes": [self._axis(i) for i in range(case.ndim)],
            "frameworks": {
                a.framework: {"code": a.code, "note": a.note, "arguments": a.arguments}
                for a in self.advice
            },
            "lowering": {
                name: {**form._asdict(), "operators": operators}
                for (name, form), operators in zip(forms.items(), self.operators)
            },
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
        rows: List[List[Any]] = []
        for i, name in enumerate(AXES[case.ndim]):
            numbers = [case.sizes[i], case.kernel[i], case.stride[i], case.dilation[i], self.out[i]]
            rows.append([name, *numbers, *case.pads[i], *([case.extra[i]] if cut else [])])
        lines = [*_wrapped(self.headline), *_wrapped(self.hint), ""]
        for row in [["axis", *titles], *rows]:
            line = f"{row[0]:<8}"
            for title, cell in zip(titles, row[1:]):
                line += f"{cell:>{max(len(title), 5) + 2}}"
            lines.append(line)
        return lines

    def _code(self):
        mode = self.case.mode
        serves = f" (padding={mode!r} works at every size)" if mode in ("same", "same_lower") else ""
        lines = [f"What to write at {times(self.case.sizes)}{serves}"]
        for framework, code, note, _ in self.advice:
            for i, line in enumerate(code):
                lines += _entry("" if i else framework, line, hang=4)
            if note:
                lines += _entry("" if code else framework, note)
        return lines

    def _computed(self):
        this, every = self.lowerings
        channels = ""
        if self.case.op == "conv":
            case = self.case
            channels = f", {case.channels} > {case.filters} channels, batch {case.batch}"
        lines = [f"How gluon_same computes it{channels}"]
        forms = [
            ("this size", "(eager or specialized) ", this),
            ("every size", "(hybridized or exported) ", every),
        ]
        if this == every:
            forms = [("every size", "", every)]
        for (name, where, form), operators in zip(forms, self.operators):
            lines += _entry(name, f"{where}{'; '.join(form.words)}") + _entry("", form.cost())
            if operators:
                names = ", ".join(f"{n} {op}" if n > 1 else op for op, n in operators.items())
                lines += _entry("", f"operators: {names}")
        return lines

    def _measured(self):
        if self.seconds is None:
            return []
        batch, best = self.case.batch, min(self.seconds.values(), default=None)
        lines = [f"Times of the single layer on this machine, at batch {batch}"]
        if best is None:
            return lines + _entry("", "not measured: there is only one way")
        for way, seconds in self.seconds.items():
            mark = "  fastest" if seconds == best else ""
            lines.append(f"  {way:<14}{seconds * 1e3:9.3f} ms{mark}")
        return lines

    def _drawn(self):
        lines = []
        for heading, picture in self._panels():
            lines += [heading, "", text.draw(picture), ""]
        cells: Dict[str, str] = {}
        windows: Dict[str, str] = {}
        for picture in self.pictures:
            for found, all_ in zip(picture.meanings(), (cells, windows)):
                all_.update(found)
        return lines + [
            "   ".join(f"{m} {what}" for m, what in part.items()) for part in (cells, windows)
        ]

    def _panels(self):
        """Yield each picture, with the names of the axes that it shows."""
        alike: Dict[Any, Tuple[Windows, List[str]]] = {}
        for name, picture in zip(AXES[self.case.ndim], self.pictures):
            alike.setdefault(tuple(vars(picture).items()), (picture, []))[1].append(name)
        for picture, names in alike.values():
            joined = " and ".join(", ".join(names).rsplit(", ", 1))
            ends = "cut off" if picture.transposed else "of padding"
            words = f"{picture.before} {ends} before, {picture.after} after"
            yield f"{joined}: {picture.in_size} -> {self._out_of(picture)}, {words}", picture

    def _out_of(self, picture):
        return picture.size if picture.transposed else picture.out


def _short(values):
    return str(values[0]) if len(set(values)) == 1 else times(values)


def _entry(name, words, hang=0):
    return _wrapped(f"{' ':2}{name:<14}{words}", " " * (16 + hang))


def _wrapped(words, indent=""):
    return textwrap.wrap(
        words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
