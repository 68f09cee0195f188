"""Layers that change images at random in training, and return them unchanged in inference."""

from ..values import Value
from .table import Built, Request, builds, elementwise

AUGMENTATIONS = (
    *("AugMix", "CutMix", "MixUp", "RandAugment", "RandomBrightness", "RandomColorDegeneration"),
    *("RandomColorJitter", "RandomContrast", "RandomElasticTransform", "RandomErasing", "RandomFlip"),
    *("RandomGaussianBlur", "RandomGrayscale", "RandomHeight", "RandomHue", "RandomInvert"),
    *("RandomPerspective", "RandomPosterization", "RandomRotation", "RandomSaturation"),
    *("RandomSharpness", "RandomShear", "RandomTranslation", "RandomWidth", "RandomZoom"),
)

#: Layers whose calls Keras 3 always writes with ``training=True``, which the model's mode replaces.
SAVED_AS_TRAINING = (*AUGMENTATIONS, "Resizing")


@builds(*AUGMENTATIONS)
def _augmentation(request: Request, x: Value) -> Built:
    request.arguments.ignore(*request.arguments.all())
    return elementwise(None, nonnegative=x.nonnegative, inference_only=True)
