#include "tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "axis.h"
#include "finite.h"
#include "yuv_planes.h"

namespace windhover {
namespace {

constexpr int side_limit = 16384;

struct PixelRect {
  int x, y, width, height;
};

struct Placement {
  // Pixels of the frame that are taken, and pixels of the tensor that they fill.
  PixelRect from, to;
};

std::string check_order(const TensorOrder& order, size_t out_elements) {
  const auto got = [](double value) { return ", got " + std::to_string(value); };
  if (order.width < 1 || order.width > side_limit || order.height < 1 || order.height > side_limit) {
    return "expected a tensor with sides from 1 to " + std::to_string(side_limit) + " pixels, got " +
           std::to_string(order.width) + " x " + std::to_string(order.height);
  }
  const size_t needed = static_cast<size_t>(order.width) * order.height * 3;
  if (out_elements < needed) {
    return "expected room for " + std::to_string(needed) + " values (3 x " + std::to_string(order.height) + " x " +
           std::to_string(order.width) + "), got " + std::to_string(out_elements) + ": make the target array larger";
  }
  for (int i = 0; i < 3; i++) {
    if (!is_finite(order.mean[i])) return "expected finite numbers in mean" + got(order.mean[i]);
    if (!is_finite(order.std_dev[i]) || order.std_dev[i] == 0) {
      return "expected finite numbers other than 0 in std" + got(order.std_dev[i]);
    }
  }
  if (!is_finite(order.padding) || order.padding < 0 || order.padding > 255) {
    return "expected padding from 0 to 255" + got(order.padding);
  }
  const auto& part = order.region;
  const bool finite = is_finite(part.x) && is_finite(part.y) && is_finite(part.width) && is_finite(part.height);
  if (!finite || part.width <= 0 || part.height <= 0 || part.x >= 1 || part.y >= 1 || part.x + part.width <= 0 ||
      part.y + part.height <= 0) {
    return "expected a region in fractions of the frame that has an area and touches the frame, got x " +
           std::to_string(part.x) + ", y " + std::to_string(part.y) + ", width " + std::to_string(part.width) +
           ", height " + std::to_string(part.height);
  }
  return {};
}

// Whole pixels, at least one of them, of a fraction of `length` pixels.
void take_pixels(double from, double extent, int length, int* first, int* count) {
  const double low = std::max(from, 0.0), high = std::min(from + extent, 1.0);
  *first = std::min(static_cast<int>(std::lround(low * length)), length - 1);
  *count = std::max(static_cast<int>(std::lround(high * length)) - *first, 1);
}

Placement place(const YuvPlanes& planes, const TensorOrder& order) {
  Placement placed{};
  PixelRect &from = placed.from, &to = placed.to;
  take_pixels(order.region.x, order.region.width, planes.width, &from.x, &from.width);
  take_pixels(order.region.y, order.region.height, planes.height, &from.y, &from.height);
  to = {0, 0, order.width, order.height};
  if (order.fit == TensorOrder::Fit::letterbox) {
    const double wide = from.width, high = from.height, scale = std::min(order.width / wide, order.height / high);
    to.width = std::clamp(static_cast<int>(std::lround(wide * scale)), 1, order.width);
    to.height = std::clamp(static_cast<int>(std::lround(high * scale)), 1, order.height);
    if (order.anchor == TensorOrder::Anchor::centre) {
      to.x = (order.width - to.width) / 2;
      to.y = (order.height - to.height) / 2;
    }
  }
  return placed;
}

AxisOrder luma_axis(int first, int count, int targets) {
  return {static_cast<double>(first), static_cast<double>(count) / targets, first, first + count - 1, targets};
}

// A chroma sample lies between two of luma, or on the first of them when `cosited`.
AxisOrder chroma_axis(int first, int count, int targets, bool cosited) {
  return {first / 2.0 + (cosited ? 0.25 : 0.0), count / 2.0 / targets, first / 2, (first + count - 1) / 2, targets};
}

// Adds up rows, each times its weight. Several at once, as the sums then stay in registers; their weights add up to 257
// at most, which keeps the sum in 16 bits.
template <int ROWS, bool ADD>
void sum_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int length, float* __restrict sums) {
  uint8_t weight[ROWS];
  for (int k = 0; k < ROWS; k++) weight[k] = weights[k];
  for (int x = 0; x < length; x++) {
    uint16_t sum = 0;
    for (int k = 0; k < ROWS; k++) sum = static_cast<uint16_t>(sum + top[k * stride + x] * weight[k]);
    sums[x] = ADD ? sums[x] + static_cast<float>(sum) : static_cast<float>(sum);
  }
}

constexpr int rows_at_once = 8;
using SumRows = void (*)(const uint8_t*, ptrdiff_t, const uint8_t*, int, float*);
template <bool ADD>
constexpr SumRows sum_some_rows[rows_at_once] = {sum_rows<1, ADD>, sum_rows<2, ADD>, sum_rows<3, ADD>,
                                                 sum_rows<4, ADD>, sum_rows<5, ADD>, sum_rows<6, ADD>,
                                                 sum_rows<7, ADD>, sum_rows<8, ADD>};

// `origin` is the row of the axis' first sample; `length` bytes are read of each row that has a weight.
// Returns by how much the sums are larger than the samples.
int shrink_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, float* sums) {
  const float* shares = axis.weights.data() + static_cast<size_t>(target) * axis.taps;
  const int count = axis.counts[target];
  const uint8_t* top = origin + axis.first[target] * stride;
  // Weights are bytes. Many rows come in several sums, so that each row can have a larger share of its own sum.
  const int unit = count <= rows_at_once ? 255 : 30 * (count - 2);
  float share = 0;
  int given = 0;
  for (int done = 0; done < count; done += rows_at_once) {
    const int some = std::min(count - done, rows_at_once);
    uint8_t weights[rows_at_once];
    for (int k = 0; k < some; k++) {
      // The running total is rounded, not each weight, so that they always add up to `unit`.
      share += shares[done + k];
      const int total = done + k == count - 1 ? unit : static_cast<int>(share * static_cast<float>(unit) + 0.5f);
      weights[k] = static_cast<uint8_t>(total - given);
      given = total;
    }
    const SumRows sum = done == 0 ? sum_some_rows<false>[some - 1] : sum_some_rows<true>[some - 1];
    sum(top + done * stride, stride, weights, length, sums);
  }
  return unit;
}

using Floats4 = float __attribute__((vector_size(16)));
using Order4 = int32_t __attribute__((vector_size(16)));

inline Floats4 load4(const float* from) {
  Floats4 values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

inline Floats4 add_pairs(Floats4 a, Floats4 b) {
  return __builtin_shuffle(a, b, Order4{0, 2, 4, 6}) + __builtin_shuffle(a, b, Order4{1, 3, 5, 7});
}

// Four target pixels at a time: their windows lie anywhere, but their sums make one vector. U and V go together, as
// their windows and weights are the same. TAPS is known when compiled for the usual numbers, else 0 and looked up.
template <int TAPS, int PLANES>
void weigh_columns(const float* const* sums, const Axis& axis, float scale, float* const* out) {
  const int taps = TAPS ? TAPS : axis.taps, targets = static_cast<int>(axis.first.size());
  const float* weights = axis.weights.data();
  for (int x = 0; x < targets; x += axis_targets_at_once) {
    Floats4 windows[PLANES][axis_targets_at_once];
    for (int i = 0; i < axis_targets_at_once; i++, weights += taps) {
      const int first = axis.first[x + i];
      for (int p = 0; p < PLANES; p++) windows[p][i] = load4(sums[p] + first) * load4(weights);
      for (int k = 4; k < taps; k += 4) {
        for (int p = 0; p < PLANES; p++) windows[p][i] += load4(sums[p] + first + k) * load4(weights + k);
      }
    }
    for (int p = 0; p < PLANES; p++) {
      const auto& w = windows[p];
      const Floats4 totals = add_pairs(add_pairs(w[0], w[1]), add_pairs(w[2], w[3])) * scale;
      std::memcpy(out[p] + x, &totals, sizeof totals);
    }
  }
}

template <int PLANES>
void shrink_columns(const float* const* sums, const Axis& axis, int unit, float* const* out) {
  const float scale = 1.0f / static_cast<float>(unit);
  switch (axis.taps) {
    case 4: return weigh_columns<4, PLANES>(sums, axis, scale, out);
    case 8: return weigh_columns<8, PLANES>(sums, axis, scale, out);
    default: return weigh_columns<0, PLANES>(sums, axis, scale, out);
  }
}

void split_pairs(const float* __restrict pairs, int count, float* __restrict first, float* __restrict second) {
  for (int x = 0; x < count; x++) {
    first[x] = pairs[2 * x];
    second[x] = pairs[2 * x + 1];
  }
}

// What turns a colour from 0 to 255 into the tensor's number.
struct Normaliser {
  float scale, shift;
};

inline float clamp_byte(float value) { return std::min(std::max(value, 0.0f), 255.0f); }
inline void store(float* at, float value, Normaliser n) { *at = value * n.scale + n.shift; }
inline void store(uint8_t* at, float value, Normaliser) { *at = static_cast<uint8_t>(value + 0.5f); }

template <typename T, int STEP>
__attribute__((noinline)) void convert_row(const float* __restrict y, const float* __restrict u,
                                           const float* __restrict v, int length, const YuvToRgb m,
                                           const Normaliser nr, const Normaliser ng, const Normaliser nb,
                                           T* __restrict r, T* __restrict g, T* __restrict b) {
  for (int x = 0; x < length; x++) {
    const float light = (y[x] - m.y_offset) * m.y_scale, cu = u[x] - 128.0f, cv = v[x] - 128.0f;
    store(r + x * STEP, clamp_byte(light + m.r_from_v * cv), nr);
    store(g + x * STEP, clamp_byte(light + m.g_from_u * cu + m.g_from_v * cv), ng);
    store(b + x * STEP, clamp_byte(light + m.b_from_u * cu), nb);
  }
}

// Grows to the widest row asked for on this thread, and is reused.
struct RowScratch {
  std::vector<float> sums, pairs, values;
};

// Makes rows of YUV at the tensor's size, one at a time.
class RowReader {
 public:
  RowReader(const YuvPlanes& planes, const GstVideoInfo& info, const Placement& placed, RowScratch& scratch)
      : planes_(planes),
        luma_x_(cached_axis(luma_axis(placed.from.x, placed.from.width, placed.to.width))),
        luma_y_(cached_axis(luma_axis(placed.from.y, placed.from.height, placed.to.height))),
        chroma_x_(cached_axis(chroma_axis(placed.from.x, placed.from.width, placed.to.width,
                                          info.chroma_site & GST_VIDEO_CHROMA_SITE_H_COSITED))),
        chroma_y_(cached_axis(chroma_axis(placed.from.y, placed.from.height, placed.to.height,
                                          info.chroma_site & GST_VIDEO_CHROMA_SITE_V_COSITED))),
        luma_length_(placed.from.width),
        chroma_length_((placed.from.x + placed.from.width - 1) / 2 - placed.from.x / 2 + 1) {
    const ptrdiff_t left = placed.from.x / 2 * planes.chroma_step, top = placed.from.y / 2;
    luma_ = planes.y + static_cast<ptrdiff_t>(placed.from.y) * planes.y_stride + placed.from.x;
    u_ = planes.u + top * planes.u_stride + left;
    v_ = planes.v + top * planes.v_stride + left;
    // A window of columns may pass the end of the row by its zero weights: the room is ours, not the frame's.
    const size_t room = static_cast<size_t>(luma_length_) + std::max(luma_x_.taps, chroma_x_.taps);
    if (scratch.sums.size() < room * 2) scratch.sums.resize(room * 2);
    if (scratch.pairs.size() < room * 2) scratch.pairs.resize(room * 2);
    const size_t targets = luma_x_.first.size();
    if (scratch.values.size() < targets * 3) scratch.values.resize(targets * 3);
    sums_[0] = scratch.sums.data();
    sums_[1] = sums_[0] + room;
    pairs_ = scratch.pairs.data();
    y = scratch.values.data();
    u = y + targets;
    v = u + targets;
  }

  void read(int row) {
    const int luma_unit = shrink_rows(luma_, planes_.y_stride, luma_y_, row, luma_length_, sums_[0]);
    shrink_columns<1>(sums_, luma_x_, luma_unit, &y);
    int unit;
    if (planes_.chroma_step == 2) {
      unit = shrink_rows(u_, planes_.u_stride, chroma_y_, row, chroma_length_ * 2, pairs_);
      split_pairs(pairs_, chroma_length_, sums_[0], sums_[1]);
    } else {
      unit = shrink_rows(u_, planes_.u_stride, chroma_y_, row, chroma_length_, sums_[0]);
      shrink_rows(v_, planes_.v_stride, chroma_y_, row, chroma_length_, sums_[1]);
    }
    float* const uv[] = {u, v};
    shrink_columns<2>(sums_, chroma_x_, unit, uv);
  }

  float *y, *u, *v;

 private:
  const YuvPlanes& planes_;
  const Axis &luma_x_, &luma_y_, &chroma_x_, &chroma_y_;
  const int luma_length_, chroma_length_;
  const uint8_t *luma_, *u_, *v_;
  float *sums_[2], *pairs_;
};

template <typename T, int STEP>
void fill_rows(RowReader& reader, const YuvToRgb& matrix, const TensorOrder& order, const PixelRect& to, T* out) {
  const size_t pixels = static_cast<size_t>(order.width) * order.height;
  Normaliser normalisers[3];
  T* channels[3];
  T padding[3];
  for (int i = 0; i < 3; i++) {
    normalisers[i] = {static_cast<float>(1 / order.std_dev[i]), static_cast<float>(-order.mean[i] / order.std_dev[i])};
    channels[i] = out + (STEP == 1 ? i * pixels : i);
    store(&padding[i], static_cast<float>(order.padding), normalisers[i]);
  }
  const auto pad = [&](int y, int from, int until) {
    for (int i = 0; i < 3; i++) {
      T* row = channels[i] + static_cast<size_t>(y) * order.width * STEP;
      for (int x = from; x < until; x++) row[x * STEP] = padding[i];
    }
  };
  const int red = order.colours == TensorOrder::Colours::rgb ? 0 : 2, blue = 2 - red;
  for (int y = 0; y < order.height; y++) {
    if (y < to.y || y >= to.y + to.height) {
      pad(y, 0, order.width);
      continue;
    }
    reader.read(y - to.y);
    const size_t at = (static_cast<size_t>(y) * order.width + to.x) * STEP;
    pad(y, 0, to.x);
    convert_row<T, STEP>(reader.y, reader.u, reader.v, to.width, matrix, normalisers[red], normalisers[1],
                         normalisers[blue], channels[red] + at, channels[1] + at, channels[blue] + at);
    pad(y, to.x + to.width, order.width);
  }
}

}  // namespace

bool fill_tensor(const GstVideoFrame& frame, const TensorOrder& order, void* out, size_t out_elements, bool as_float,
                 TensorGeometry* geometry, std::string* error) {
  YuvPlanes planes;
  if (!view_planes(frame, &planes, error)) return false;
  *error = check_order(order, out_elements);
  if (!error->empty()) return false;

  const Placement placed = place(planes, order);
  thread_local RowScratch scratch;
  RowReader reader(planes, frame.info, placed, scratch);
  const YuvToRgb matrix = yuv_to_rgb(frame.info);
  const bool planar = order.layout == TensorOrder::Layout::nchw;
  if (as_float && planar) fill_rows<float, 1>(reader, matrix, order, placed.to, static_cast<float*>(out));
  else if (as_float) fill_rows<float, 3>(reader, matrix, order, placed.to, static_cast<float*>(out));
  else if (planar) fill_rows<uint8_t, 1>(reader, matrix, order, placed.to, static_cast<uint8_t*>(out));
  else fill_rows<uint8_t, 3>(reader, matrix, order, placed.to, static_cast<uint8_t*>(out));

  geometry->scale_x = static_cast<double>(placed.to.width) / placed.from.width;
  geometry->scale_y = static_cast<double>(placed.to.height) / placed.from.height;
  geometry->offset_x = placed.to.x;
  geometry->offset_y = placed.to.y;
  geometry->origin_x = placed.from.x;
  geometry->origin_y = placed.from.y;
  return true;
}

}  // namespace windhover
