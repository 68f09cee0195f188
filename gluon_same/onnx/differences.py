"""Find operators that MXNet's exporter would silently convert wrong."""

from typing import Dict, Optional

_TRUE = ("True", "true", "1")


def why_different(operator: str, attributes: Dict[str, str]) -> Optional[str]:
    """Return what to change if MXNet's exporter would silently convert an operator wrong, or None."""

    def given(name, default=""):
        return attributes.get(name, default)

    averages = (
        operator == "Pooling" and given("pool_type") == "avg" and given("global_pool") not in _TRUE
    )
    if (
        averages
        and given("pooling_convention") == "full"
        and given("count_include_pad", "True") in _TRUE
    ):
        return "Average pooling with ceil_mode=True requires count_include_pad=False"
    if operator == "Pooling" and given("pool_type") == "lp" and given("p_value", "2") not in ("1", "2"):
        return "Pooling of type 'lp' requires p_value=1 or p_value=2"
    by_class = given("id_index", "-1") != "-1" and given("force_suppress") not in _TRUE
    if operator == "_contrib_box_nms" and by_class:
        return "box_nms requires force_suppress=True, because boxes of all classes compete in ONNX"
    if operator == "_contrib_BilinearResize2D" and given("align_corners", "True") not in _TRUE:
        return "BilinearResize2D requires align_corners=True"
    return None
