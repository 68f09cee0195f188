"""Operations that models in files use, as functions of ``F`` and arrays or symbols.

Functions of one array are known by name to the importers, which take MXNet's operator of the same name
if there is none here.
"""

# ruff: noqa: F401, F403
from ...nn.relu import general_relu
from ...nn.reshape import reshape
from ...nn.upsampling import interpolate, repeat_elements
from .activations import *
from .attention import *
from .colors import *
from .elementwise import *
from .encoding import *
from .fourier import *
from .hashing import *
from .indexing import *
from .kernels import *
from .losses import *
from .masks import *
from .normalizations import *
from .padding import *
from .pairs import *
from .products import *
from .quantizing import *
from .rearranging import *
from .recurrent import *
from .reductions import *
from .resizing import *
from .sampling import *
from .selecting import *
from .shapes import *
from .windows import *
