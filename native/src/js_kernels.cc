// Pixel kernels that JavaScript calls directly: camera motion and changes of the image for vision/, and the choice of the
// kernel set. JS thread; images are small, a call takes a fraction of a millisecond.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "addon.h"
#include "kernels.h"

namespace {
using namespace windhover;

// A corner's strength is that of 3 x 3 cells of 2 x 2 pixels. At most one corner per square of 3 x 3 cells, so that they
// spread over the image. Strengths below `weakest` are noise.
constexpr int cell = 2, square = 3, corner_margin = 2;
constexpr float weakest = 150;
constexpr int side_limit = 16384;
// Sums of a column of such a square fit into 16 bits.
constexpr int largest_square = 256;

void check(Napi::Env env, bool holds, const char* expected) {
  if (!holds) throw Napi::RangeError::New(env, std::string("expected ") + expected);
}

int read_side(const Napi::Value& value, const char* expected) {
  const double side = value.As<Napi::Number>().DoubleValue();
  check(value.Env(), side >= 0 && side <= side_limit && side == std::floor(side), expected);
  return static_cast<int>(side);
}

struct Size {
  int width, height;
  size_t pixels() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
};

Size read_size(const Napi::CallbackInfo& info, size_t at) {
  return {read_side(info[at], "a width in pixels"), read_side(info[at + 1], "a height in pixels")};
}

struct LumaArguments {
  const uint8_t* plane;
  size_t stride;
  int step;
  // Of the small image: whole squares only.
  Size small;
};

// (plane, stride, width, height, step, …)
LumaArguments read_luma(const Napi::CallbackInfo& info) {
  const auto plane = info[0].As<Napi::Uint8Array>();
  const auto stride = static_cast<size_t>(info[1].As<Napi::Number>().Int64Value());
  const Size size = read_size(info, 2);
  const int step = read_side(info[4], "a step in pixels");
  check(info.Env(), step > 0, "a step of at least a pixel");
  const size_t used = size.height > 0 ? stride * static_cast<size_t>(size.height - 1) + static_cast<size_t>(size.width) : 0;
  check(info.Env(), plane.ElementLength() >= used, "a plane with all of its rows");
  return {plane.Data(), stride, step, {size.width / step, size.height / step}};
}

// shrinkLuma(plane, stride, width, height, step, target): the mean of four out of each step x step pixels
void shrink_luma(const Napi::CallbackInfo& info) {
  const auto [plane, stride, step, small] = read_luma(info);
  auto target = info[5].As<Napi::Float32Array>();
  check(info.Env(), target.ElementLength() >= small.pixels(), "room for the small image");
  const int near = step / 4, apart = 3 * step / 4 - near;
  for (int y = 0; y < small.height; y++) {
    const uint8_t* upper = plane + static_cast<size_t>(y * step + near) * stride + near;
    kernels().shrink_row(upper, upper + static_cast<size_t>(apart) * stride, step, apart, small.width,
                         target.Data() + static_cast<size_t>(y) * static_cast<size_t>(small.width));
  }
}

// averageLuma(plane, stride, width, height, side, target): the mean of all pixels of each side x side square
void average_luma(const Napi::CallbackInfo& info) {
  const LumaArguments luma = read_luma(info);
  auto target = info[5].As<Napi::Float32Array>();
  check(info.Env(), luma.step <= largest_square, "squares of up to 256 pixels a side");
  check(info.Env(), target.ElementLength() >= luma.small.pixels(), "room for the small image");
  const int used = luma.small.width * luma.step;
  std::vector<uint16_t> sums(static_cast<size_t>(used));
  const float share = 1.0f / static_cast<float>(luma.step * luma.step);
  float* out = target.Data();
  for (int y = 0; y < luma.small.height; y++) {
    const uint8_t* from = luma.plane + static_cast<size_t>(y * luma.step) * luma.stride;
    kernels().sum_columns(from, static_cast<ptrdiff_t>(luma.stride), luma.step, used, sums.data());
    const uint16_t* column = sums.data();
    for (int x = 0; x < luma.small.width; x++, column += luma.step) {
      *out++ = static_cast<float>(std::accumulate(column, column + luma.step, 0u)) * share;
    }
  }
}

// halveGrey(source, width, height, target)
void halve_grey(const Napi::CallbackInfo& info) {
  const auto source = info[0].As<Napi::Float32Array>();
  const Size size = read_size(info, 1), half = {size.width / 2, size.height / 2};
  auto target = info[3].As<Napi::Float32Array>();
  check(info.Env(), source.ElementLength() >= size.pixels(), "an image with all of its rows");
  check(info.Env(), target.ElementLength() >= half.pixels(), "room for the half image");
  for (int y = 0; y < half.height; y++) {
    const float* upper = source.Data() + static_cast<size_t>(2 * y) * static_cast<size_t>(size.width);
    kernels().halve_row(upper, upper + size.width, half.width,
                        target.Data() + static_cast<size_t>(y) * static_cast<size_t>(half.width));
  }
}

struct Corner {
  float x, y, strength;
};

// Strengths of all cells; 0 less than two cells from the edge.
std::vector<float> measure_corners(const GreyView& grey, int columns, int rows) {
  const auto width = static_cast<size_t>(columns);
  std::vector<float> strengths(width * static_cast<size_t>(rows)), products(strengths.size() * 3);
  const auto product_row = [&](size_t kind, int row) {
    return products.data() + kind * strengths.size() + static_cast<size_t>(row) * width;
  };
  for (int row = 1; row < rows - 1; row++) {
    const float* pixels = grey.data + static_cast<size_t>(cell * row) * static_cast<size_t>(grey.width);
    kernels().slope_products(pixels, grey.width, columns, product_row(0, row), product_row(1, row), product_row(2, row));
  }
  for (int row = corner_margin; row < rows - corner_margin; row++) {
    SlopeRows slopes;
    for (size_t kind = 0; kind < 3; kind++) {
      for (int i = 0; i < 3; i++) slopes.of[kind][i] = product_row(kind, row - 1 + i);
    }
    kernels().corner_row(slopes, columns, strengths.data() + static_cast<size_t>(row) * width);
  }
  return strengths;
}

// findCorners(grey, width, height, excluded, most) -> interleaved x and y, the strongest first; `excluded` holds left, top,
// right, bottom of each area
Napi::Value find_corners(const Napi::CallbackInfo& info) {
  const auto pixels = info[0].As<Napi::Float32Array>();
  const Size size = read_size(info, 1);
  const auto excluded = info[3].As<Napi::Float64Array>();
  const size_t most = info[4].As<Napi::Number>().Uint32Value();
  check(info.Env(), pixels.ElementLength() >= size.pixels(), "an image with all of its rows");
  const auto is_excluded = [&](float x, float y) {
    for (size_t i = 0; i + 3 < excluded.ElementLength(); i += 4) {
      const double* region = excluded.Data() + i;
      if (x >= region[0] && y >= region[1] && x <= region[2] && y <= region[3]) return true;
    }
    return false;
  };
  const int columns = size.width / cell, rows = size.height / cell;
  const auto strengths = measure_corners({pixels.Data(), size.width, size.height}, columns, rows);
  std::vector<Corner> corners;
  for (int top = corner_margin; top + square <= rows - corner_margin; top += square) {
    for (int left = corner_margin; left + square <= columns - corner_margin; left += square) {
      Corner best{0, 0, weakest};
      for (int row = top; row < top + square; row++) {
        for (int column = left; column < left + square; column++) {
          const float strength = strengths[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)];
          const float x = (static_cast<float>(column) + 0.5f) * cell - 0.5f, y = (static_cast<float>(row) + 0.5f) * cell - 0.5f;
          if (strength > best.strength && !is_excluded(x, y)) best = {x, y, strength};
        }
      }
      if (best.strength > weakest) corners.push_back(best);
    }
  }
  const size_t count = std::min(most, corners.size());
  std::partial_sort(corners.begin(), corners.begin() + static_cast<ptrdiff_t>(count), corners.end(),
                    [](const Corner& a, const Corner& b) {
                      if (a.strength != b.strength) return a.strength > b.strength;
                      return a.y != b.y ? a.y < b.y : a.x < b.x;
                    });
  auto found = Napi::Float32Array::New(info.Env(), count * 2);
  for (size_t i = 0; i < count; i++) {
    found[2 * i] = corners[i].x;
    found[2 * i + 1] = corners[i].y;
  }
  return found;
}

void read_pyramid(const Napi::Array& pictures, Size size, int levels, GreyView* views) {
  for (int level = 0; level < levels; level++, size = {size.width / 2, size.height / 2}) {
    const auto picture = pictures.Get(static_cast<uint32_t>(level)).As<Napi::Float32Array>();
    check(pictures.Env(), picture.ElementLength() >= size.pixels(), "images that are each half as wide as the one before");
    views[level] = {picture.Data(), size.width, size.height};
  }
}

// followPoints(before, after, width, height, points, level, right, down) -> their positions in `after`, or NaN
Napi::Value follow_points(const Napi::CallbackInfo& info) {
  const auto before = info[0].As<Napi::Array>(), after = info[1].As<Napi::Array>();
  const Size size = read_size(info, 2);
  const auto points = info[4].As<Napi::Float32Array>();
  FlowOrder order{};
  order.level = info[5].As<Napi::Number>().Int32Value();
  order.right = info[6].As<Napi::Number>().FloatValue();
  order.down = info[7].As<Napi::Number>().FloatValue();
  const int levels = static_cast<int>(std::min({before.Length(), after.Length(), static_cast<uint32_t>(most_levels)}));
  check(info.Env(), order.level >= 0 && order.level < levels, "a level that both pyramids have");
  check(info.Env(), std::isfinite(order.right) && std::isfinite(order.down), "a finite shift");
  for (size_t i = 0; i < points.ElementLength(); i++) check(info.Env(), std::isfinite(points[i]), "finite points");
  read_pyramid(before, size, order.level + 1, order.before);
  read_pyramid(after, size, order.level + 1, order.after);
  const size_t count = points.ElementLength() / 2;
  auto found = Napi::Float32Array::New(info.Env(), count * 2);
  std::vector<uint8_t> is_found(count);
  kernels().follow_points(order, points.Data(), static_cast<int>(count), found.Data(), is_found.data());
  for (size_t i = 0; i < count; i++) {
    if (!is_found[i]) found[2 * i] = found[2 * i + 1] = std::nanf("");
  }
  return found;
}

// kernelSets() -> names of the sets that this CPU can run, from the slowest to the fastest
Napi::Value kernel_sets(const Napi::CallbackInfo& info) {
  const Kernels* sets[most_kernel_sets];
  auto names = Napi::Array::New(info.Env());
  for (int i = 0, count = list_kernels(sets); i < count; i++) names.Set(static_cast<uint32_t>(i), sets[i]->name);
  return names;
}

// useKernelSet(name): from the next frame on
void use_kernel_set(const Napi::CallbackInfo& info) {
  const auto name = info[0].ToString().Utf8Value();
  if (!use_kernels(name.c_str()))
    throw Napi::RangeError::New(info.Env(), "expected one of kernelSets(), got \"" + name + "\"");
}
}  // namespace

void export_kernels(Napi::Env env, Napi::Object exports) {
  exports.Set("shrinkLuma", Napi::Function::New(env, shrink_luma));
  exports.Set("averageLuma", Napi::Function::New(env, average_luma));
  exports.Set("halveGrey", Napi::Function::New(env, halve_grey));
  exports.Set("findCorners", Napi::Function::New(env, find_corners));
  exports.Set("followPoints", Napi::Function::New(env, follow_points));
  exports.Set("kernelSets", Napi::Function::New(env, kernel_sets));
  exports.Set("useKernelSet", Napi::Function::New(env, use_kernel_set));
}
