"""Windows over one axis: padding, elements and windows, and which of them to draw."""

from typing import Dict, List, Optional, Tuple

from .. import geometry

#: Largest numbers of cells and windows that are all drawn: 34 cells fit 80 columns.
MOST_CELLS, MOST_WINDOWS, END_WINDOWS = 34, 9, 4

ELEMENT, PADDING = "o", "."
WINDOW = "#=#"  #: Two taps and what joins them.

#: What the marks of cells and windows mean, and what they mean in a transposed convolution.
MEANINGS = {ELEMENT: "element", PADDING: "padding", WINDOW: "window"}
TRANSPOSED = {
    ELEMENT: "element of the output",
    PADDING: "cut off",
    WINDOW: "elements to which one input element contributes",
}


class Windows:
    """Windows over one axis. :meth:`rows` and :meth:`columns` choose what is drawn.

    Parameters
    ----------
    in_size, kernel, stride, dilation : int
        Elements along the axis, and the window.
    padding : (int, int)
        Elements that are added before and after the axis. For a transposed convolution, those that
        are cut off.
    extra : int, optional
        For a transposed convolution, elements added at the end; None for other windows. Each window of
        a transposed convolution is the part of the output to which one input element contributes. The
        axis is then the output.

    Attributes
    ----------
    size : int
        Elements of the drawn axis: the input's, or a transposed convolution's output.
    out : int
        Windows.
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
        extra: Optional[int] = None,
    ):
        self.span = geometry.effective_kernel(kernel, dilation)
        self.in_size, self.kernel, self.stride, self.dilation = in_size, kernel, stride, dilation
        self.before, self.after = padding
        self.extra, self.transposed = extra or 0, extra is not None
        self.size, self.out = in_size, in_size
        if self.transposed:
            self.size = (in_size - 1) * stride + self.span - sum(padding) + self.extra
        else:
            self.out = geometry.output_size(in_size, kernel, stride, dilation, padding)
        self.out_size = self.size if self.transposed else self.out

    @property
    def ends(self) -> str:
        """What is added to the two ends of the axis, or cut off, in words."""
        what, added = "cut off" if self.transposed else "of padding", f", {self.extra} added"
        return f"{self.before} {what} before, {self.after} after{added if self.extra else ''}"

    def cell(self, position: int) -> str:
        """Return what is at a position, counted from the first element: ``ELEMENT`` or ``PADDING``."""
        return ELEMENT if 0 <= position < self.size else PADDING

    def columns(self) -> Tuple[range, range]:
        """Return the positions to draw before and after the omitted middle.

        The second range is empty if the whole axis is drawn.
        """
        begin, end, half = -self.before, self.size + self.after, MOST_CELLS // 2 - 1
        if end - begin <= MOST_CELLS:
            return range(begin, end), range(0)
        return range(begin, begin + half), range(end - half, end)

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

    def rows(self) -> List[Optional[Tuple[int, range]]]:
        """Return the number and the taps of each window to draw, with None in place of omitted ones."""
        numbers = [*range(self.out)]
        if self.out > MOST_WINDOWS:
            numbers[END_WINDOWS:-END_WINDOWS] = []
        rows: List[Optional[Tuple[int, range]]] = []
        expected = 0
        for i in numbers:
            start = i * self.stride - self.before
            stop = start + self.span
            if any(start < part.stop and part.start < stop for part in self.columns()):
                row = i, range(start, stop, self.dilation)
                rows += [row] if i == expected else [None, row]
                expected = i + 1
        return rows if expected == self.out else [*rows, None]

    def meanings(self) -> Dict[str, str]:
        """Return what the marks of the drawn cells mean, and last that of a window."""
        drawn = {WINDOW, *(self.cell(i) for part in self.columns() for i in part)}
        meanings = TRANSPOSED if self.transposed else MEANINGS
        return {mark: what for mark, what in meanings.items() if mark in drawn}
