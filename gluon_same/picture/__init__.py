"""Windows over an axis, drawn: in text and in SVG."""
