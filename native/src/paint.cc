#include "paint.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace windhover {
namespace {

// Exact rounding of a product over 255, in 16 bits.
inline uint8_t blend(uint8_t under, uint8_t colour, unsigned alpha) {
  const auto sum = static_cast<uint16_t>(under * (255 - alpha) + colour * alpha + 128);
  return static_cast<uint8_t>((sum + (sum >> 8)) >> 8);
}

void blend_run(uint8_t* at, int count, uint8_t colour, unsigned alpha) {
  if (alpha >= 255) {
    std::memset(at, colour, count);
  } else {
    for (int i = 0; i < count; i++) at[i] = blend(at[i], colour, alpha);
  }
}

struct ChromaRow {
  uint8_t *u, *v;
};

ChromaRow chroma_row(const YuvPlanes& planes, int x, int y) {
  const ptrdiff_t along = static_cast<ptrdiff_t>(x) * planes.chroma_step;
  return {planes.u + static_cast<ptrdiff_t>(y) * planes.u_stride + along,
          planes.v + static_cast<ptrdiff_t>(y) * planes.v_stride + along};
}

void blend_chroma_run(const YuvPlanes& planes, int x, int y, int count, YuvColour colour, unsigned alpha) {
  const ChromaRow row = chroma_row(planes, x, y);
  if (planes.chroma_step == 1) {
    blend_run(row.u, count, colour.u, alpha);
    blend_run(row.v, count, colour.v, alpha);
    return;
  }
  for (int i = 0; i < count; i++) {
    row.u[2 * i] = blend(row.u[2 * i], colour.u, alpha);
    row.u[2 * i + 1] = blend(row.u[2 * i + 1], colour.v, alpha);
  }
}

void blend_masked(uint8_t* __restrict at, int step, int count, uint8_t colour, const uint8_t* __restrict alpha) {
  if (step == 1) {
    for (int i = 0; i < count; i++) at[i] = blend(at[i], colour, alpha[i]);
  } else {
    for (int i = 0; i < count; i++) at[i * step] = blend(at[i * step], colour, alpha[i]);
  }
}

// Half of a chroma sample's pixels on this axis, or all of them; the frame's edge may be in the middle of a sample.
bool covers_half(int sample, int from, int until, int limit) {
  return sample * 2 < from || (sample * 2 + 1 >= until && sample * 2 + 1 < limit);
}

}  // namespace

void paint_rectangle(const YuvPlanes& planes, Edges edges, Paint paint) {
  const int left = std::max(edges.left, 0), right = std::min(edges.right, planes.width);
  const int top = std::max(edges.top, 0), bottom = std::min(edges.bottom, planes.height);
  if (left >= right || top >= bottom || paint.opacity <= 0) return;
  for (int y = top; y < bottom; y++) {
    uint8_t* row = planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride;
    blend_run(row + left, right - left, paint.colour.y, paint.opacity);
  }
  const int first = left / 2, last = (right - 1) / 2;
  const bool half_first = covers_half(first, left, right, planes.width);
  const bool half_last = last > first && covers_half(last, left, right, planes.width);
  const int whole_from = first + half_first, whole_until = last + 1 - half_last;
  for (int y = top / 2; y <= (bottom - 1) / 2; y++) {
    const unsigned alpha = covers_half(y, top, bottom, planes.height) ? paint.opacity / 2 : paint.opacity;
    if (half_first) blend_chroma_run(planes, first, y, 1, paint.colour, alpha / 2);
    if (whole_until > whole_from) {
      blend_chroma_run(planes, whole_from, y, whole_until - whole_from, paint.colour, alpha);
    }
    if (half_last) blend_chroma_run(planes, last, y, 1, paint.colour, alpha / 2);
  }
}

void paint_mask(const YuvPlanes& planes, const Mask& mask, Paint paint) {
  const int right = std::min(mask.left + mask.width, planes.width);
  const int bottom = std::min(mask.top + mask.height, planes.height);
  if (mask.left >= right || mask.top >= bottom || paint.opacity <= 0) return;
  const int samples = (right - mask.left + 1) / 2;
  const unsigned opacity = paint.opacity + (paint.opacity >> 7);
  thread_local std::vector<uint8_t> alpha;
  if (alpha.size() < static_cast<size_t>(mask.width)) alpha.resize(mask.width);
  uint8_t* __restrict faded = alpha.data();

  for (int y = mask.top; y < bottom; y += 2) {
    const uint8_t* upper = mask.coverage + static_cast<ptrdiff_t>(y - mask.top) * mask.stride;
    const uint8_t* lower = upper + mask.stride;
    for (int x = 0; x < samples; x++) {
      const unsigned sum = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1];
      faded[x] = static_cast<uint8_t>((sum + 2) / 4 * opacity >> 8);
    }
    const ChromaRow chroma = chroma_row(planes, mask.left / 2, y / 2);
    blend_masked(chroma.u, planes.chroma_step, samples, paint.colour.u, faded);
    blend_masked(chroma.v, planes.chroma_step, samples, paint.colour.v, faded);
    for (int line = y; line < std::min(y + 2, bottom); line++) {
      const uint8_t* coverage = line == y ? upper : lower;
      for (int x = 0; x < right - mask.left; x++) faded[x] = static_cast<uint8_t>(coverage[x] * opacity >> 8);
      uint8_t* row = planes.y + static_cast<ptrdiff_t>(line) * planes.y_stride + mask.left;
      blend_masked(row, 1, right - mask.left, paint.colour.y, faded);
    }
  }
}

}  // namespace windhover
