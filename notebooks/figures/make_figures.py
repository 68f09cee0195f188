"""Draw the figures that the README shows, into the folder of this script.

Run it after a change of :mod:`gluon_same.picture.svg`; the tests compare the files with what it draws.
"""

import os
from typing import Dict

from gluon_same.picture.explain import explain
from gluon_same.picture.svg import draw

HERE = os.path.dirname(os.path.abspath(__file__))


def figures() -> Dict[str, str]:
    """Return each figure's SVG by its file name."""
    pool = [
        ("padding=0: 5 -> 4", explain(5, 2, padding="valid")),
        ("padding=1: 5 -> 6", explain(5, 2, padding=(1, 1))),
        ("padding='same': 5 -> 5", explain(5, 2)),
    ]
    title = "A pool of size 2 and stride 1: stock Gluon, and padding='same'"
    description = (
        "Over an axis of 5 elements, stock Gluon computes 4 windows without padding, and 6 with one "
        "element at each end. padding='same' puts one element only at the end, which gives the 5 "
        "windows of TensorFlow: the last one reads the last element alone."
    )
    return {"same-pool.svg": draw(pool, title, description, beside=True)}


def main() -> None:
    """Write the files."""
    for name, svg in figures().items():
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
            file.write(svg)


if __name__ == "__main__":
    main()
