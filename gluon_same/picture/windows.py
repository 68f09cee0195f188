"""Windows over one axis: padding and elements, kept and dropped windows, and which of them to draw."""

from typing import Dict, List, NamedTuple, Optional, Tuple

from .. import geometry

#: Largest numbers of cells and windows that are all drawn: 34 cells fit 80 columns.
MOST_CELLS, MOST_WINDOWS, END_WINDOWS = 34, 9, 4

ELEMENT, PADDING, SURPLUS = "o", ".", "+"
WINDOW, DROPPED = "#=#", "x-x"  #: Two taps and what joins them.

#: What the marks of cells and windows mean, and what they mean in a transposed convolution.
MEANINGS = {
    ELEMENT: "element",
    PADDING: "padding",
    SURPLUS: "extra padding of the operator",
    WINDOW: "window",
    DROPPED: "window computed and dropped",
}
TRANSPOSED = {
    ELEMENT: "element of the output",
    PADDING: "cut off",
    WINDOW: "elements to which one input element contributes",
}


class Row(NamedTuple):
    """One window: where its taps are, and whether it is kept."""

    label: int  # its number among the windows that are kept; -1 if it is dropped
    start: int  # its first tap, counted from the first element of the axis
    stop: int  # one beyond its last tap
    step: int  # between its taps
    kept: bool

    @property
    def taps(self) -> range:
        return range(self.start, self.stop, self.step)

    @property
    def mark(self) -> str:
        return WINDOW if self.kept else DROPPED


class Windows:
    """Windows over one axis. :meth:`rows` and :meth:`columns` choose what is drawn.

    Parameters
    ----------
    in_size, kernel, stride, dilation : int
        Elements along the axis, and the window.
    padding : (int, int)
        Elements that are added before and after the axis. For a transposed convolution, those that
        are cut off.
    operator : (int, int), optional
        Padding of an operator that computes more windows. The surplus windows are drawn as dropped.
    extra : int, optional
        For a transposed convolution, elements added at the end; None for other windows. Each window of
        a transposed convolution is the part of the output to which one input element contributes. The
        axis is then the output.

    Attributes
    ----------
    size : int
        Elements of the drawn axis: the input's, or a transposed convolution's output.
    out : int
        Windows that are kept.
    count : int
        Windows that are computed, including those that are dropped.
    out_size : int
        Elements of the result.
    """

    def __init__(
        self,
        in_size: int,
        kernel: int,
        stride: int = 1,
        dilation: int = 1,
        padding: Tuple[int, int] = (0, 0),
        operator: Optional[Tuple[int, int]] = None,
        extra: Optional[int] = None,
    ):
        self.span = geometry.effective_kernel(kernel, dilation)
        self.in_size, self.kernel, self.stride, self.dilation = in_size, kernel, stride, dilation
        self.before, self.after = padding
        self.extra, self.transposed = extra or 0, extra is not None
        if self.transposed:
            self.operator = padding
            self.out = self.count = in_size
            self.size = (in_size - 1) * stride + self.span - sum(padding) + self.extra
        else:
            self.operator = operator or padding
            self.size = in_size
            self.out = geometry.output_size(in_size, kernel, stride, dilation, padding)
            self.count = geometry.output_size(in_size, kernel, stride, dilation, self.operator)
        self.out_size = self.size if self.transposed else self.out
        #: Cells that may be drawn, from the first to one beyond the last; 0 is the first element.
        self.begin = -max(self.before, self.operator[0])
        self.end = self.size + max(self.after, self.operator[1])

    @property
    def ends(self) -> str:
        """What is added to the two ends of the axis, or cut off, in words."""
        what, added = "cut off" if self.transposed else "of padding", f", {self.extra} added"
        return f"{self.before} {what} before, {self.after} after{added if self.extra else ''}"

    @property
    def dropped(self) -> int:
        """Windows that are computed and not kept."""
        ahead, rest = divmod(self.operator[0] - self.before, self.stride)
        if rest:
            return self.count
        return self.count - max(min(self.out + ahead, self.count) - max(ahead, 0), 0)

    def cell(self, position: int) -> str:
        """Return what is at a position: ``ELEMENT``, ``PADDING`` or ``SURPLUS``."""
        if 0 <= position < self.size:
            return ELEMENT
        return PADDING if -self.before <= position < self.size + self.after else SURPLUS

    def columns(self) -> Tuple[range, range]:
        """Return the positions to draw before and after the omitted middle.

        The second range is empty if the whole axis is drawn.
        """
        if self.end - self.begin <= MOST_CELLS:
            return range(self.begin, self.end), range(0)
        half = MOST_CELLS // 2 - 1
        return range(self.begin, self.begin + half), range(self.end - half, self.end)

    def places(self, step: int, gap: int) -> Tuple[Dict[int, int], Optional[int]]:
        """Return where to draw each position, and the middle of the gap if the axis has one.

        Parameters
        ----------
        step, gap : int
            Widths of a cell and of the gap.
        """
        left, right = self.columns()
        at = {position: i * step for i, position in enumerate(left)}
        at.update((position, (len(left) + i) * step + gap) for i, position in enumerate(right))
        return at, len(left) * step + gap // 2 if right else None

    def rows(self) -> List[Optional[Row]]:
        """Return the windows to draw, from first to last, with None in place of omitted ones."""
        numbers = [*range(self.count)] if self.count <= MOST_WINDOWS else [*range(END_WINDOWS)]
        if self.count > MOST_WINDOWS:
            numbers += range(self.count - END_WINDOWS, self.count)
        rows, expected = [], 0
        for i in numbers:
            row = self._window(i)
            if any(row.start < part.stop and part.start < row.stop for part in self.columns()):
                rows += [row] if i == expected else [None, row]
                expected = i + 1
        return rows if expected == self.count else [*rows, None]

    def meanings(self) -> List[Tuple[str, str]]:
        """Return the marks of the drawn cells and of the drawn windows, each with its meaning."""
        drawn = {self.cell(i) for part in self.columns() for i in part}
        drawn |= {row.mark for row in self.rows() if row is not None}
        meanings = TRANSPOSED if self.transposed else MEANINGS
        return [(mark, what) for mark, what in meanings.items() if mark in drawn]

    def _window(self, i):
        start = i * self.stride - self.operator[0]
        at, rest = divmod(start + self.before, self.stride)
        kept = rest == 0 and 0 <= at < self.out
        return Row(at if kept else -1, start, start + self.span, self.dilation, kept)
