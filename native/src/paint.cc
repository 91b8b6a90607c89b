#include "paint.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace windhover {
namespace {

constexpr int cache_line_bytes = 64;

// Exact rounding of products over 255; all in 16 bits, which doubles what a vector holds.
inline uint8_t divide_by_255(uint16_t product) {
  const auto sum = static_cast<uint16_t>(product + 128);
  return static_cast<uint8_t>(static_cast<uint16_t>(sum + (sum >> 8)) >> 8);
}

inline uint8_t scale(uint8_t value, uint8_t by) { return divide_by_255(static_cast<uint16_t>(value * by)); }

inline uint8_t blend(uint8_t under, uint8_t colour, uint8_t alpha) {
  const auto left = static_cast<uint8_t>(255 - alpha);
  return divide_by_255(static_cast<uint16_t>(under * left + colour * alpha));
}

void blend_run(uint8_t* at, int count, uint8_t colour, uint8_t alpha) {
  if (alpha == 255) {
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

void blend_chroma_run(const YuvPlanes& planes, int x, int y, int count, YuvColour colour, uint8_t alpha) {
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

void blend_masked(uint8_t* __restrict at, int count, uint8_t colour, const uint8_t* __restrict alpha) {
  for (int i = 0; i < count; i++) at[i] = blend(at[i], colour, alpha[i]);
}

void blend_masked_pairs(uint8_t* __restrict at, int count, YuvColour colour, const uint8_t* __restrict alpha) {
  for (int i = 0; i < count; i++) {
    at[2 * i] = blend(at[2 * i], colour.u, alpha[i]);
    at[2 * i + 1] = blend(at[2 * i + 1], colour.v, alpha[i]);
  }
}

void fade(const uint8_t* __restrict coverage, int count, uint8_t opacity, uint8_t* __restrict faded) {
  for (int i = 0; i < count; i++) faded[i] = scale(coverage[i], opacity);
}

// The mean of 2 x 2 pixels for each chroma sample.
void fade_chroma(const uint8_t* __restrict upper, const uint8_t* __restrict lower, int samples, uint8_t opacity,
                 uint8_t* __restrict faded) {
  for (int i = 0; i < samples; i++) {
    const auto sum = static_cast<uint16_t>(upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1] + 2);
    faded[i] = scale(static_cast<uint8_t>(sum >> 2), opacity);
  }
}

// Half of a chroma sample's pixels on this axis, or all of them; the frame's edge may be in the middle of a sample.
bool covers_half(int sample, int from, int until, int limit) {
  return sample * 2 < from || (sample * 2 + 1 >= until && sample * 2 + 1 < limit);
}

}  // namespace

void prefetch_row(const YuvPlanes& planes, int left, int right, int y) {
  const uint8_t* luma = planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride;
  for (int x = left; x < right; x += cache_line_bytes) __builtin_prefetch(luma + x, 1);
  __builtin_prefetch(luma + right - 1, 1);
  if (y % 2 != 0) return;
  const ChromaRow first = chroma_row(planes, left / 2, y / 2), last = chroma_row(planes, (right - 1) / 2, y / 2);
  for (const uint8_t* at = first.u; at < last.u; at += cache_line_bytes) __builtin_prefetch(at, 1);
  __builtin_prefetch(last.u, 1);
  if (planes.chroma_step == 2) return;
  for (const uint8_t* at = first.v; at < last.v; at += cache_line_bytes) __builtin_prefetch(at, 1);
  __builtin_prefetch(last.v, 1);
}

void paint_rectangle(const YuvPlanes& planes, Edges edges, Paint paint) {
  const int left = std::max(edges.left, 0), right = std::min(edges.right, planes.width);
  const int top = std::max(edges.top, 0), bottom = std::min(edges.bottom, planes.height);
  if (left >= right || top >= bottom || paint.opacity <= 0) return;
  const auto opacity = static_cast<uint8_t>(std::min(paint.opacity, 255));
  for (int y = top; y < bottom; y++) {
    uint8_t* row = planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride;
    blend_run(row + left, right - left, paint.colour.y, opacity);
  }
  const int first = left / 2, last = (right - 1) / 2;
  const bool half_first = covers_half(first, left, right, planes.width);
  const bool half_last = last > first && covers_half(last, left, right, planes.width);
  const int whole_from = first + half_first, whole_until = last + 1 - half_last;
  for (int y = top / 2; y <= (bottom - 1) / 2; y++) {
    const auto alpha = static_cast<uint8_t>(covers_half(y, top, bottom, planes.height) ? opacity / 2 : opacity);
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
  const int columns = right - mask.left, samples = (columns + 1) / 2;
  const auto opacity = static_cast<uint8_t>(std::min(paint.opacity, 255));
  thread_local std::vector<uint8_t> alpha;
  if (alpha.size() < static_cast<size_t>(mask.width)) alpha.resize(mask.width);
  uint8_t* faded = alpha.data();

  for (int y = mask.top; y < bottom; y++) {
    const uint8_t* coverage = mask.coverage + static_cast<ptrdiff_t>(y - mask.top) * mask.stride;
    if (opacity < 255) fade(coverage, columns, opacity, faded);
    blend_masked(planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride + mask.left, columns, paint.colour.y,
                 opacity < 255 ? faded : coverage);
    if (y % 2 != 0) continue;
    fade_chroma(coverage, coverage + mask.stride, samples, opacity, faded);
    const ChromaRow chroma = chroma_row(planes, mask.left / 2, y / 2);
    if (planes.chroma_step == 2) {
      blend_masked_pairs(chroma.u, samples, paint.colour, faded);
    } else {
      blend_masked(chroma.u, samples, paint.colour.u, faded);
      blend_masked(chroma.v, samples, paint.colour.v, faded);
    }
  }
}

}  // namespace windhover
