"""Code with mistakes. Type checkers in strict mode must refuse each line that is marked."""

from gluon_same import nn

nn.Conv2D(8, 3, stride=2)  # refused: the name is `strides`
nn.Conv2D(8)  # refused: no kernel_size
nn.Conv2D("8", 3)  # refused: channels is an int
nn.MaxPool2D(2, padding=0.5)  # refused: padding is not a float
nn.Conv2D(8, 3, padding="sam")  # refused: there is no such word
nn.ReLU6(6)  # refused: the maximum is always 6
nn.Dens(10)  # refused: there is no such block
