#include "tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "resample.h"
#include "yuv_planes.h"

namespace windhover {
namespace {

constexpr int side_limit = 16384;

struct Placement {
  // Pixels of the frame, and the pixels of the tensor that they fill.
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
    if (!std::isfinite(order.mean[i])) return "expected finite numbers in mean" + got(order.mean[i]);
    if (!std::isfinite(order.std_dev[i]) || order.std_dev[i] == 0) {
      return "expected finite numbers other than 0 in std" + got(order.std_dev[i]);
    }
  }
  if (!std::isfinite(order.padding) || order.padding < 0 || order.padding > 255) {
    return "expected padding from 0 to 255" + got(order.padding);
  }
  const auto& part = order.region;
  const bool finite = std::isfinite(part.x) && std::isfinite(part.y) && std::isfinite(part.width) && std::isfinite(part.height);
  if (!finite || part.width <= 0 || part.height <= 0 || part.x >= 1 || part.y >= 1 || part.x + part.width <= 0 ||
      part.y + part.height <= 0) {
    return "expected a region in fractions of the frame that has an area and touches the frame, got x " +
           std::to_string(part.x) + ", y " + std::to_string(part.y) + ", width " + std::to_string(part.width) +
           ", height " + std::to_string(part.height);
  }
  return {};
}

Placement place(const YuvPlanes& planes, const TensorOrder& order) {
  Placement placed{};
  PixelRect &from = placed.from, &to = placed.to;
  from = take_pixels(order.region, planes.width, planes.height);
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

// A chroma sample lies between two luma samples, or on the first one when `cosited`.
AxisOrder chroma_axis(int first, int count, int targets, bool cosited) {
  return {first / 2.0 + (cosited ? 0.25 : 0.0), count / 2.0 / targets, first / 2, (first + count - 1) / 2, targets};
}

// One row of the image: `length` pixels; all three rows may be read up to the next multiple of pixels_at_once.
struct LevelRow {
  const Level *y, *u, *v;
  int length;
};

// Per thread; grows to the widest row.
struct RowScratch {
  std::vector<Sum> sums;
  std::vector<Level> levels;
};

// Reads rows of YUV at the size of the tensor.
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
        length_(placed.to.width),
        luma_length_(placed.from.width),
        chroma_length_((placed.from.x + placed.from.width - 1) / 2 - placed.from.x / 2 + 1) {
    const ptrdiff_t left = placed.from.x / 2 * planes.chroma_step, top = placed.from.y / 2;
    luma_ = planes.y + static_cast<ptrdiff_t>(placed.from.y) * planes.y_stride + placed.from.x;
    u_ = planes.u + top * planes.u_stride + left;
    v_ = planes.v + top * planes.v_stride + left;
    // Windows of columns may exceed the row with zero weights, and rows are read in whole blocks: hence the extra room.
    const size_t room = static_cast<size_t>(luma_length_) + std::max({luma_x_.taps, chroma_x_.taps, pixels_at_once});
    if (scratch.sums.size() < room * 2) scratch.sums.resize(room * 2);
    const size_t targets = static_cast<size_t>(length_ + pixels_at_once - 1) / pixels_at_once * pixels_at_once;
    if (scratch.levels.size() < targets * 3) scratch.levels.resize(targets * 3);
    sums_[0] = scratch.sums.data();
    sums_[1] = sums_[0] + room;
    y_ = scratch.levels.data();
    uv_[0] = y_ + targets;
    uv_[1] = uv_[0] + targets;
  }

  // Valid until the next call.
  LevelRow read(int row) {
    weigh_rows(luma_, planes_.y_stride, luma_y_, row, luma_length_, sums_[0]);
    weigh_columns(sums_[0], luma_x_, y_);
    if (planes_.chroma_step == 2) {
      weigh_paired_rows(u_, planes_.u_stride, chroma_y_, row, chroma_length_, sums_[0], sums_[1]);
    } else {
      weigh_rows(u_, planes_.u_stride, chroma_y_, row, chroma_length_, sums_[0]);
      weigh_rows(v_, planes_.v_stride, chroma_y_, row, chroma_length_, sums_[1]);
    }
    weigh_both_columns(sums_, chroma_x_, uv_);
    return {y_, uv_[0], uv_[1], length_};
  }

 private:
  const YuvPlanes& planes_;
  const Axis &luma_x_, &luma_y_, &chroma_x_, &chroma_y_;
  const int length_, luma_length_, chroma_length_;
  const uint8_t *luma_, *u_, *v_;
  Sum* sums_[2];
  Level *y_, *uv_[2];
};

// How the colours of a tensor are computed and stored.
struct ColourOrder {
  bool rgb;
  ColourRange range;
  ColourPlaces places;
};

ColourOrder colour_order(const TensorOrder& order) {
  ColourOrder colours{};
  colours.rgb = order.colours == TensorOrder::Colours::rgb;
  colours.places.interleaved = order.layout == TensorOrder::Layout::nhwc;
  colours.places.plane = static_cast<size_t>(order.width) * order.height;
  for (int i = 0; i < 3; i++) {
    colours.range.scale[i] = static_cast<float>(1 / order.std_dev[i]);
    colours.range.shift[i] = static_cast<float>(-order.mean[i] / order.std_dev[i]);
  }
  return colours;
}

int16_t to_fixed(float value, int unit) { return static_cast<int16_t>(std::lround(value * static_cast<float>(unit))); }

// Converts rows of levels to colours.
class RowConverter {
 public:
  RowConverter(const YuvToRgb& m, const ColourOrder& order) : order_(order) {
    constexpr int unit = 1 << matrix_bits;
    matrix_ = {to_fixed(m.y_offset, level_unit), to_fixed(m.y_scale, unit),  to_fixed(m.r_from_v, unit),
               to_fixed(m.g_from_v, unit),       to_fixed(m.g_from_u, unit), to_fixed(m.b_from_u, unit)};
    if (order.rgb) return;
    std::swap(matrix_.first_from_outer, matrix_.third_from_inner);
    std::swap(matrix_.second_from_outer, matrix_.second_from_inner);
  }
  // `out` is the position of the first colour of the first pixel. Writes the pixels of the row only.
  void convert(const LevelRow& row, float* out) const {
    kernels().to_floats(in_order(row), matrix_, order_.range, order_.places, out);
  }
  void convert(const LevelRow& row, uint8_t* out) const { kernels().to_bytes(in_order(row), matrix_, order_.places, out); }

 private:
  ColourRow in_order(const LevelRow& row) const {
    return {row.y, order_.rgb ? row.v : row.u, order_.rgb ? row.u : row.v, row.length};
  }

  const ColourOrder& order_;
  ColourMatrix matrix_;  // in the order of the tensor
};

void pad_value(const ColourOrder& colours, int i, double padding, float* value) {
  *value = static_cast<float>(padding) * colours.range.scale[i] + colours.range.shift[i];
}
void pad_value(const ColourOrder&, int, double padding, uint8_t* value) {
  *value = static_cast<uint8_t>(std::lround(padding));
}

// Fills the part of a row outside of the image.
template <typename T>
class Padding {
 public:
  Padding(const TensorOrder& order, const ColourOrder& colours, T* out) : colours_(colours), width_(order.width), out_(out) {
    for (int i = 0; i < 3; i++) pad_value(colours, i, order.padding, &values_[i]);
    if (!colours.places.interleaved) return;
    // Copying a row is faster than writing three values repeatedly.
    row_.resize(static_cast<size_t>(width_) * 3);
    for (size_t x = 0; x < row_.size(); x++) row_[x] = values_[x % 3];
  }

  void fill(int y, int from, int until) const {
    if (from >= until) return;
    const size_t at = static_cast<size_t>(y) * width_ + from;
    if (colours_.places.interleaved) {
      std::copy_n(row_.data(), static_cast<size_t>(until - from) * 3, out_ + at * 3);
    } else {
      for (int i = 0; i < 3; i++) std::fill_n(out_ + i * colours_.places.plane + at, until - from, values_[i]);
    }
  }

 private:
  const ColourOrder& colours_;
  const int width_;
  T* const out_;
  T values_[3];
  std::vector<T> row_;
};

template <typename T>
void fill_rows(RowReader& reader, const YuvToRgb& matrix, const TensorOrder& order, const PixelRect& to, T* out) {
  const ColourOrder colours = colour_order(order);
  const Padding<T> padding(order, colours, out);
  const RowConverter converter(matrix, colours);
  for (int y = 0; y < order.height; y++) {
    if (y < to.y || y >= to.y + to.height) {
      padding.fill(y, 0, order.width);
      continue;
    }
    const size_t at = static_cast<size_t>(y) * order.width + to.x;
    padding.fill(y, 0, to.x);
    converter.convert(reader.read(y - to.y), out + at * (colours.places.interleaved ? 3 : 1));
    padding.fill(y, to.x + to.width, order.width);
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
  if (as_float) fill_rows(reader, matrix, order, placed.to, static_cast<float*>(out));
  else fill_rows(reader, matrix, order, placed.to, static_cast<uint8_t*>(out));

  geometry->scale_x = static_cast<double>(placed.to.width) / placed.from.width;
  geometry->scale_y = static_cast<double>(placed.to.height) / placed.from.height;
  geometry->offset_x = placed.to.x;
  geometry->offset_y = placed.to.y;
  geometry->origin_x = placed.from.x;
  geometry->origin_y = placed.from.y;
  return true;
}

}  // namespace windhover
