#include "paint.h"

#include <vector>

#include "kernels.h"

namespace windhover {
namespace {

constexpr int cache_line_bytes = 64;

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

void paint_rectangle(const YuvPlanes& planes, Edges edges, Paint paint) { kernels().paint_rectangle(planes, edges, paint); }

void paint_mask(const YuvPlanes& planes, const Mask& mask, Paint paint) {
  thread_local std::vector<uint8_t> scratch;
  if (scratch.size() < static_cast<size_t>(mask.width)) scratch.resize(mask.width);
  kernels().paint_mask(planes, mask, paint, scratch.data());
}

}  // namespace windhover
