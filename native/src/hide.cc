#include "hide.h"

#include <algorithm>
#include <vector>

namespace windhover {
namespace {

// One colour of a frame: samples `step` bytes apart.
struct Samples {
  uint8_t* data;
  ptrdiff_t stride;
  int step;

  uint8_t* at(int x, int y) const { return data + y * stride + static_cast<ptrdiff_t>(x) * step; }
};

// The part of a block of the grid that lies within from..until.
struct Span {
  int from, until;
};
Span span_of(int index, int block, int from, int until) {
  return {std::max(index * block, from), std::min((index + 1) * block, until)};
}

uint8_t mean(const Samples& samples, Span x, Span y) {
  const int columns = x.until - x.from, rows = y.until - y.from;
  const auto count = static_cast<uint64_t>(columns) * static_cast<uint64_t>(rows);
  const uint64_t sum = kernels().sum_block(samples.at(x.from, y.from), samples.stride, samples.step, columns, rows);
  return static_cast<uint8_t>((sum + count / 2) / count);
}

void pixelate(const Samples& samples, const Edges& e, int block) {
  for (int row = e.top / block; row * block < e.bottom; row++) {
    const Span y = span_of(row, block, e.top, e.bottom);
    for (int column = e.left / block; column * block < e.right; column++) {
      const Span x = span_of(column, block, e.left, e.right);
      kernels().fill_block(samples.at(x.from, y.from), samples.stride, samples.step, x.until - x.from, y.until - y.from,
                           mean(samples, x, y));
    }
  }
}

// Where a sample lies between the centres of two blocks: the first of them, and the weight of the second, 0 to 256.
struct Between {
  int first;
  int weight;
};
Between between_blocks(int at, int block) {
  // In half samples from the centre of block 0.
  const int distance = 2 * at + 1 - block, pitch = 2 * block;
  const int first = distance >= 0 ? distance / pitch : -1;
  return {first, (distance - first * pitch) * 256 / pitch};
}

// Samples of a row between the centres of the same two blocks.
struct Run {
  int x, count, first;
};

void smooth(const Samples& samples, const Edges& e, int block) {
  const int left = e.left / block, top = e.top / block;
  const int columns = (e.right - 1) / block - left + 1, rows = (e.bottom - 1) / block - top + 1;
  thread_local std::vector<uint8_t> means;
  thread_local std::vector<uint16_t> levels, weights;
  thread_local std::vector<Run> runs;
  means.resize(static_cast<size_t>(columns) * static_cast<size_t>(rows));
  levels.resize(static_cast<size_t>(columns));
  weights.clear(), runs.clear();
  for (int row = 0; row < rows; row++) {
    const Span y = span_of(top + row, block, e.top, e.bottom);
    for (int column = 0; column < columns; column++)
      means[static_cast<size_t>(row * columns + column)] = mean(samples, span_of(left + column, block, e.left, e.right), y);
  }
  for (int x = e.left; x < e.right; x++) {
    const Between at = between_blocks(x, block);
    if (runs.empty() || runs.back().first != at.first) runs.push_back({x, 0, at.first});
    runs.back().count++;
    weights.push_back(static_cast<uint16_t>(at.weight));
  }
  const auto within = [](int index, int count) { return static_cast<size_t>(std::clamp(index, 0, count - 1)); };
  for (int y = e.top; y < e.bottom; y++) {
    const Between at = between_blocks(y, block);
    const uint8_t* upper = means.data() + within(at.first - top, rows) * static_cast<size_t>(columns);
    const uint8_t* lower = means.data() + within(at.first + 1 - top, rows) * static_cast<size_t>(columns);
    for (size_t i = 0; i < levels.size(); i++)
      levels[i] = static_cast<uint16_t>(upper[i] * (256 - at.weight) + lower[i] * at.weight);
    for (const Run& run : runs)
      kernels().fill_ramp(samples.at(run.x, y), samples.step, run.count, levels[within(run.first - left, columns)],
                          levels[within(run.first + 1 - left, columns)], weights.data() + (run.x - e.left));
  }
}

}  // namespace

void hide_rectangle(const YuvPlanes& planes, Edges edges, const Hiding& hiding) {
  const Edges e = {std::max(edges.left, 0), std::max(edges.top, 0), std::min(edges.right, planes.width),
                   std::min(edges.bottom, planes.height)};
  if (e.left >= e.right || e.top >= e.bottom) return;
  const auto hide = hiding.smooth ? smooth : pixelate;
  hide({planes.y, planes.y_stride, 1}, e, hiding.block);
  const Edges chroma = {e.left / 2, e.top / 2, (e.right + 1) / 2, (e.bottom + 1) / 2};
  hide({planes.u, planes.u_stride, planes.chroma_step}, chroma, hiding.block / 2);
  hide({planes.v, planes.v_stride, planes.chroma_step}, chroma, hiding.block / 2);
}

}  // namespace windhover
