// Puts colour on the planes of a frame. Everything is clipped at the frame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "yuv_planes.h"

namespace windhover {

struct Paint {
  YuvColour colour;
  // From 0, nothing, to 255, all of it.
  int opacity;
};

// Pixels from left to right - 1 and from top to bottom - 1.
struct Edges {
  int left, top, right, bottom;
};

// How much of each pixel is covered, 0 to 255, from the pixel (left, top) of the frame. All four numbers are even, as a
// chroma sample belongs to 2 x 2 pixels, and not negative; the last column and row may lie just outside an odd frame.
struct Mask {
  int left, top, width, height;
  // Borrowed from the caller, who owns it and may change it after the call.
  const uint8_t* coverage;
  int stride;
};

// The chroma samples of one row, from sample x. Internal linkage: the kernels of every set use it.
struct ChromaRow {
  uint8_t *u, *v;
};
static inline ChromaRow chroma_row(const YuvPlanes& planes, int x, int y) {
  const ptrdiff_t along = static_cast<ptrdiff_t>(x) * planes.chroma_step;
  return {planes.u + static_cast<ptrdiff_t>(y) * planes.u_stride + along,
          planes.v + static_cast<ptrdiff_t>(y) * planes.v_stride + along};
}

// Hints that pixels of a row are about to be painted.
void prefetch_row(const YuvPlanes& planes, int left, int right, int y);

// The caller holds the frame behind `planes` mapped for writing, and is the only one that does.
void paint_rectangle(const YuvPlanes& planes, Edges edges, Paint paint);
void paint_mask(const YuvPlanes& planes, const Mask& mask, Paint paint);

}  // namespace windhover
