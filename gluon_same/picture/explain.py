"""A picture of a window on one axis, from the arguments of a layer."""

from .. import geometry
from . import svg, text
from .windows import Windows

__all__ = ["Picture", "explain"]


class Picture(Windows):
    """Windows over one axis: text if printed, a figure in a notebook.

    Made by :func:`explain`. Its attributes are those of :class:`~.windows.Windows`.

    Parameters
    ----------
    in_size, kernel, stride, dilation, padding, extra
        As for :class:`~.windows.Windows`.

    Examples
    --------
    >>> picture = Picture(3, 2, padding=(0, 1))
    >>> picture.out
    3
    >>> print(picture)
          0   2
          o o o .
        0 #=#
        1   #=#
        2     #=#
    <BLANKLINE>
    o element   . padding
    #=# window
    """

    def text(self, legend: bool = True) -> str:
        """Draw the picture in ASCII, at most 80 columns wide.

        Parameters
        ----------
        legend : bool
            Whether to explain the marks below the picture.

        Returns
        -------
        str
        """
        return text.draw(self, legend)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return svg.draw([("", self)])


def explain(
    in_size: int,
    kernel: int,
    stride: int = 1,
    dilation: int = 1,
    padding: geometry.Mode = "same",
    *,
    transposed: bool = False,
) -> Picture:
    """Draw the windows over an axis: as text if printed, as a figure in a notebook.

    Parameters
    ----------
    in_size, kernel, stride, dilation : int
        Elements along the axis, and the window; at least 1.
    padding : {'same', 'same_lower', 'valid'} or (int, int)
        A word, or ``(before, after)``. For a transposed convolution, a word, or the
        elements that are cut off.
    transposed : bool
        Whether to draw the windows of a transposed convolution, over its output.

    Returns
    -------
    Picture
        Its numbers are attributes; ``text(legend=False)`` omits the legend.

    Raises
    ------
    TypeError, ValueError
        As :func:`gluon_same.geometry.output_size`.

    Examples
    --------
    >>> explain(5, 3, stride=2)
            0       4
          . o o o o o .
        0 #=#=#
        1     #=#=#
        2         #=#=#
    <BLANKLINE>
    o element   . padding
    #=# window
    """
    padding = padding.lower() if isinstance(padding, str) else padding
    extra = 0 if transposed else None
    if transposed and padding in ("same", "same_lower"):
        geometry.output_size(in_size, 1)  # checks it
        pair, extra = geometry.transposed_padding(kernel, stride, dilation, padding)
    else:
        pair = geometry.padding_of(padding, in_size, kernel, stride, dilation)
    picture = Picture(in_size, kernel, stride, dilation, pair, extra)
    if picture.size < 1:
        raise ValueError(
            f"padding={padding!r} cuts off the whole output of a transposed convolution: use less"
        )
    return picture
