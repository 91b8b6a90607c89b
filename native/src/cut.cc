#include "cut.h"

#include <cstring>
#include <vector>

#include "finite.h"
#include "tensor.h"

namespace windhover {
namespace {

// What sums of fractions are off by.
constexpr double slack = 1e-6;
constexpr int side_limit = 16384;

struct Size {
  int width, height;
};

Size shrink(const PixelRect& from, double most_pixels) {
  const int longer = std::max(from.width, from.height);
  if (most_pixels == 0 || longer <= most_pixels) return {from.width, from.height};
  const double scale = most_pixels / longer;
  const auto side = [&](int length) { return std::max(static_cast<int>(std::lround(length * scale)), 1); };
  return {side(from.width), side(from.height)};
}

// I420 and NV12, which is nearly always.
bool fill_by_kernel(const GstVideoFrame& frame, const PictureCut& cut, const Size& size, GstVideoFrame* out,
                    std::string* error) {
  TensorOrder order;
  order.width = size.width;
  order.height = size.height;
  order.fit = TensorOrder::Fit::stretch;
  order.layout = TensorOrder::Layout::nhwc;
  order.region = cut.region;
  const size_t row = static_cast<size_t>(size.width) * 3;
  std::vector<uint8_t> pixels(row * size.height);
  TensorGeometry geometry;
  if (!fill_tensor(frame, order, pixels.data(), pixels.size(), false, &geometry, error)) return false;
  auto* to = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(out, 0));
  const auto stride = static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(out, 0));
  for (int y = 0; y < size.height; y++) memcpy(to + y * stride, pixels.data() + y * row, row);
  return true;
}

bool fill_by_converter(const GstVideoFrame& frame, const PixelRect& from, const Size& size, GstVideoFrame* out,
                       std::string* error) {
  GstVideoInfo in = frame.info, to = out->info;
  GstStructure* options = gst_structure_new("options",                                                      //
                                            GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, from.x,              //
                                            GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, from.y,              //
                                            GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, from.width,      //
                                            GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, from.height,    //
                                            GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, size.width,     //
                                            GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD,
                                            GST_VIDEO_RESAMPLER_METHOD_LINEAR, nullptr);
  GstVideoConverter* converter = gst_video_converter_new(&in, &to, options);
  if (converter == nullptr) {
    *error = std::string("cannot cut a picture out of frames in ") + gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&in)) +
             ": put `videoconvert` before this element";
    return false;
  }
  gst_video_converter_frame(converter, &frame, out);
  gst_video_converter_free(converter);
  return true;
}

void repeat_last_column(const Size& size, GstVideoFrame* out) {
  const int columns = GST_VIDEO_FRAME_WIDTH(out);
  const auto stride = static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(out, 0));
  auto* pixels = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(out, 0));
  for (int y = 0; y < size.height; y++) {
    const uint8_t* last = pixels + y * stride + static_cast<size_t>(size.width - 1) * 3;
    for (int x = size.width; x < columns; x++) memcpy(pixels + y * stride + static_cast<size_t>(x) * 3, last, 3);
  }
}

}  // namespace

std::string check_cut(const PictureCut& cut) {
  const auto& [x, y, width, height] = cut.region;
  const bool finite = is_finite(x) && is_finite(y) && is_finite(width) && is_finite(height);
  if (!finite || width <= 0 || height <= 0 || x < -slack || y < -slack || x + width > 1 + slack || y + height > 1 + slack) {
    return "expected a region within the frame, in fractions of it and with an area, got x " + std::to_string(x) + ", y " +
           std::to_string(y) + ", width " + std::to_string(width) + ", height " + std::to_string(height);
  }
  if (cut.most_pixels != 0 && !(is_finite(cut.most_pixels) && cut.most_pixels >= 1 && cut.most_pixels <= side_limit)) {
    return "expected mostPixels from 1 to " + std::to_string(side_limit) + ", got " + std::to_string(cut.most_pixels);
  }
  return {};
}

GstBuffer* cut_frame(const GstVideoFrame& frame, const PictureCut& cut, int column_step, GstVideoInfo* info, int* width,
                     std::string* error) {
  *error = check_cut(cut);
  if (!error->empty()) return nullptr;
  const PixelRect from = take_pixels(cut.region, GST_VIDEO_FRAME_WIDTH(&frame), GST_VIDEO_FRAME_HEIGHT(&frame));
  const Size size = shrink(from, cut.most_pixels);
  *width = size.width;
  const int columns = (size.width + column_step - 1) / column_step * column_step;
  if (!gst_video_info_set_format(info, GST_VIDEO_FORMAT_RGB, columns, size.height)) {
    *error = "cannot make a picture of " + std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels";
    return nullptr;
  }
  info->par_n = frame.info.par_n;
  info->par_d = frame.info.par_d;
  // A converter refuses to change it.
  info->fps_n = frame.info.fps_n;
  info->fps_d = frame.info.fps_d;
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(info), nullptr);
  GstVideoFrame out;
  if (buffer == nullptr || !gst_video_frame_map(&out, info, buffer, GST_MAP_WRITE)) {
    *error = "no memory for a part of the frame";
    gst_clear_buffer(&buffer);
    return nullptr;
  }
  const GstVideoFormat format = GST_VIDEO_FRAME_FORMAT(&frame);
  const bool is_known = format == GST_VIDEO_FORMAT_I420 || format == GST_VIDEO_FORMAT_NV12;
  const bool done = is_known ? fill_by_kernel(frame, cut, size, &out, error) : fill_by_converter(frame, from, size, &out, error);
  if (done) repeat_last_column(size, &out);
  gst_video_frame_unmap(&out);
  if (!done) gst_clear_buffer(&buffer);
  return buffer;
}

}  // namespace windhover
