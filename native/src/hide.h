// Makes a rectangle of a frame unrecognisable: what is left of its pixels are the means of large blocks.
#pragma once

#include "kernels.h"

namespace windhover {

struct Hiding {
  // Side of a block in pixels, even and at least 2. Blocks lie on a grid of the frame, not of the rectangle: a rectangle that
  // moves by less than a block must not reveal other means.
  int block;
  // Interpolates between the means instead of showing them as squares.
  bool smooth;
};

// `edges` are even, or the edge of the frame; clipped to it. The caller has the frame mapped for writing, and no other
// thread accesses it.
void hide_rectangle(const YuvPlanes& planes, Edges edges, const Hiding& hiding);

}  // namespace windhover
