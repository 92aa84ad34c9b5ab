"""Distances of results from each other."""
import sys

# A part of the largest number: sums of thousands of products in other orders differ by far less.
TOLERANCE = 1e-4


def largest_difference(ours, theirs):
    """The largest difference among a million evenly spread numbers of two arrays, as a part of the largest one. Ends the program where results are not
    the same."""
    if len(ours) != len(theirs):
        sys.exit("results have %d and %d numbers" % (len(ours), len(theirs)))
    step = max(1, len(ours) // 1000003) | 1
    ours, theirs = ours[::step], theirs[::step]
    found = max(abs(a - b) for a, b in zip(ours, theirs)) / max(map(abs, ours))
    if not found <= TOLERANCE:
        sys.exit("results differ by %g of the largest number" % found)
    return found
