"""The one definition of a percentile in these measurements."""
import math


def percentile(values, share):
    """The smallest value that at least `share` of all are not above (nearest rank); nan of none."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered), math.ceil(share * len(ordered))) - 1)] if ordered else float("nan")
