#include "tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "axis.h"
#include "finite.h"
#include "resample.h"
#include "to_rgb.h"
#include "yuv_planes.h"

namespace windhover {
namespace {

constexpr int side_limit = 16384;

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

// A chroma sample lies between two of luma, or on the first of them when `cosited`.
AxisOrder chroma_axis(int first, int count, int targets, bool cosited) {
  return {first / 2.0 + (cosited ? 0.25 : 0.0), count / 2.0 / targets, first / 2, (first + count - 1) / 2, targets};
}

// Grows to the widest row asked for on this thread, and is reused.
struct RowScratch {
  std::vector<Sum> sums;
  std::vector<Level> levels;
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
        length_(placed.to.width),
        luma_length_(placed.from.width),
        chroma_length_((placed.from.x + placed.from.width - 1) / 2 - placed.from.x / 2 + 1) {
    const ptrdiff_t left = placed.from.x / 2 * planes.chroma_step, top = placed.from.y / 2;
    luma_ = planes.y + static_cast<ptrdiff_t>(placed.from.y) * planes.y_stride + placed.from.x;
    u_ = planes.u + top * planes.u_stride + left;
    v_ = planes.v + top * planes.v_stride + left;
    // A window of columns may pass the end of the row by its zero weights, and rows are read in whole blocks: the room is
    // ours, not the frame's.
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

  // Holds until the next is read.
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

void pad_value(const ColourOrder& colours, int i, double padding, float* value) {
  *value = static_cast<float>(padding) * colours.range.scale[i] + colours.range.shift[i];
}
void pad_value(const ColourOrder&, int, double padding, uint8_t* value) {
  *value = static_cast<uint8_t>(std::lround(padding));
}

// Fills what the picture leaves of a row.
template <typename T>
class Padding {
 public:
  Padding(const TensorOrder& order, const ColourOrder& colours, T* out) : colours_(colours), width_(order.width), out_(out) {
    for (int i = 0; i < 3; i++) pad_value(colours, i, order.padding, &values_[i]);
    if (!colours.places.interleaved) return;
    // Copied from: that is quicker than writing three values again and again.
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
