#include "picture.h"

#include <cmath>
#include <cstring>

#include "gst_cpp.h"

namespace {
using windhover::PixelRect;
using windhover::TensorGeometry;
using windhover::TensorOrder;

// Rounding error of sums of fractions.
constexpr double slack = 1e-6;
constexpr int side_limit = 16384;
constexpr char kJpeg[] = "image/jpeg";
// `jpegenc` fills incomplete blocks with uninitialised memory: its input has whole ones, and the header the true width.
constexpr int kJpegBlock = 16;

struct Size {
  int width, height;
};

Size shrink(const PixelRect& from, const std::optional<double>& most_pixels) {
  const int longer = std::max(from.width, from.height);
  if (!most_pixels || longer <= *most_pixels) return {from.width, from.height};
  const double scale = *most_pixels / longer;
  const auto side = [&](int length) { return std::max(static_cast<int>(std::lround(length * scale)), 1); };
  return {side(from.width), side(from.height)};
}

std::string check_cut(const PictureCut& cut) {
  const auto& [x, y, width, height] = cut.region;
  const bool finite = std::isfinite(x) && std::isfinite(y) && std::isfinite(width) && std::isfinite(height);
  if (!finite || width <= 0 || height <= 0 || x < -slack || y < -slack || x + width > 1 + slack || y + height > 1 + slack) {
    return "expected a region within the frame, in fractions of it and with an area, got x " + std::to_string(x) + ", y " +
           std::to_string(y) + ", width " + std::to_string(width) + ", height " + std::to_string(height);
  }
  // Written so that NaN is rejected.
  if (cut.most_pixels && !(*cut.most_pixels >= 1 && *cut.most_pixels <= side_limit)) {
    return "expected mostPixels from 1 to " + std::to_string(side_limit) + ", got " + std::to_string(*cut.most_pixels);
  }
  return {};
}

// For I420 and NV12, the usual formats.
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
  GstStructure* options = gst_structure_new("options",
                                            GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, from.x,
                                            GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, from.y,
                                            GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, from.width,
                                            GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, from.height,
                                            GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, size.width,
                                            GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD,
                                            GST_VIDEO_RESAMPLER_METHOD_LINEAR, nullptr);
  GstVideoConverter* converter = gst_video_converter_new(&in, &to, options);
  if (converter == nullptr) {
    *error = std::string("cannot crop frames in format ") + gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&in)) +
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

// A picture of this size with aspect ratio and frame rate of `like`, as a video converter must not change them.
Ref<GstBuffer> new_picture(GstVideoFormat format, int width, int height, const GstVideoInfo& like, GstVideoInfo* info) {
  if (!gst_video_info_set_format(info, format, width, height)) return nullptr;
  info->par_n = like.par_n;
  info->par_d = like.par_d;
  info->fps_n = like.fps_n;
  info->fps_d = like.fps_d;
  return Ref<GstBuffer>(gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(info), nullptr));
}

// The part in RGB, whatever the frame's format, matrix and range. The last column is repeated up to a multiple of
// `column_step`; `width` is that of the part itself. Null with the reason in `error`.
Ref<GstBuffer> cut_frame(const GstVideoFrame& frame, const PictureCut& cut, int column_step, GstVideoInfo* info, int* width,
                         std::string* error) {
  *error = check_cut(cut);
  if (!error->empty()) return nullptr;
  const PixelRect from = windhover::take_pixels(cut.region, GST_VIDEO_FRAME_WIDTH(&frame), GST_VIDEO_FRAME_HEIGHT(&frame));
  const Size size = shrink(from, cut.most_pixels);
  *width = size.width;
  const int columns = (size.width + column_step - 1) / column_step * column_step;
  Ref<GstBuffer> buffer = new_picture(GST_VIDEO_FORMAT_RGB, columns, size.height, frame.info, info);
  GstVideoFrame out;
  if (!buffer || !gst_video_frame_map(&out, info, buffer.get(), GST_MAP_WRITE)) {
    *error = "no memory for a picture of " + std::to_string(columns) + " x " + std::to_string(size.height) + " pixels";
    return nullptr;
  }
  const GstVideoFormat format = GST_VIDEO_FRAME_FORMAT(&frame);
  const bool has_kernel = format == GST_VIDEO_FORMAT_I420 || format == GST_VIDEO_FORMAT_NV12;
  const bool done = has_kernel ? fill_by_kernel(frame, cut, size, &out, error) : fill_by_converter(frame, from, size, &out, error);
  if (done) repeat_last_column(size, &out);
  gst_video_frame_unmap(&out);
  return done ? std::move(buffer) : nullptr;
}

// RGB to the colours of nearly every JPEG: Y'CbCr by BT.601 in full range, 4:2:0. `jpegenc` would write RGB, which is larger
// and which some decoders misread. The number of columns is even; `info` describes the input, then the result.
Ref<GstBuffer> to_jpeg_colours(Ref<GstBuffer> buffer, GstVideoInfo* info, std::string* error) {
  GstVideoInfo from = *info;
  Ref<GstBuffer> made = new_picture(GST_VIDEO_FORMAT_I420, from.width, from.height, from, info);
  gst_video_colorimetry_from_string(&info->colorimetry, "1:4:0:0");
  GstVideoConverter* converter = gst_video_converter_new(&from, info, nullptr);
  GstVideoFrame in, out;
  bool done = false;
  if (made && converter != nullptr && gst_video_frame_map(&in, &from, buffer.get(), GST_MAP_READ)) {
    if (gst_video_frame_map(&out, info, made.get(), GST_MAP_WRITE)) {
      gst_video_converter_frame(converter, &in, &out);
      gst_video_frame_unmap(&out);
      done = true;
    }
    gst_video_frame_unmap(&in);
  }
  if (converter != nullptr) gst_video_converter_free(converter);
  if (!done) *error = "no memory for a part of the frame";
  return done ? std::move(made) : nullptr;
}

// Sets the width that decoders show.
void set_jpeg_width(PictureBytes* jpeg, int width) {
  PictureBytes& bytes = *jpeg;
  // Segments up to the start of frame: FF, marker, length including itself.
  for (size_t at = 2; at + 9 <= bytes.size() && bytes[at] == 0xff;) {
    const uint8_t marker = bytes[at + 1];
    if (marker >= 0xc0 && marker <= 0xc2) {
      bytes[at + 7] = static_cast<uint8_t>(width >> 8);
      bytes[at + 8] = static_cast<uint8_t>(width & 0xff);
      return;
    }
    at += 2 + (static_cast<size_t>(bytes[at + 2]) << 8 | bytes[at + 3]);
  }
}
}  // namespace

PictureBytes encode_picture(GstBuffer* buffer, GstCaps* caps, const std::string& type, std::string* error) {
  Ref<GstSample> sample(gst_sample_new(buffer, caps, nullptr, nullptr));
  Ref<GstCaps> to(gst_caps_new_empty_simple(type.c_str()));
  GError* failure = nullptr;
  Ref<GstSample> picture(gst_video_convert_sample(sample.get(), to.get(), 5 * GST_SECOND, &failure));
  GstMapInfo map;
  if (!picture || !gst_buffer_map(gst_sample_get_buffer(picture.get()), &map, GST_MAP_READ)) {
    *error = "cannot make " + type + " of this frame" + (failure == nullptr ? "" : std::string(": ") + failure->message);
    g_clear_error(&failure);
    return {};
  }
  PictureBytes bytes(map.data, map.data + map.size);
  gst_buffer_unmap(gst_sample_get_buffer(picture.get()), &map);
  return bytes;
}

PictureBytes encode_cut(const GstVideoFrame& frame, const PictureCut& cut, const std::string& type, std::string* error) {
  const bool is_jpeg = type == kJpeg;
  GstVideoInfo info;
  int width = 0;
  Ref<GstBuffer> part = cut_frame(frame, cut, is_jpeg ? kJpegBlock : 1, &info, &width, error);
  if (part && is_jpeg) part = to_jpeg_colours(std::move(part), &info, error);
  if (!part) return {};
  Ref<GstCaps> caps(gst_video_info_to_caps(&info));
  PictureBytes bytes = encode_picture(part.get(), caps.get(), type, error);
  if (is_jpeg) set_jpeg_width(&bytes, width);
  return bytes;
}

Napi::Uint8Array to_uint8_array(Napi::Env env, const PictureBytes& bytes) {
  auto out = Napi::Uint8Array::New(env, bytes.size());
  if (!bytes.empty()) memcpy(out.Data(), bytes.data(), bytes.size());
  return out;
}
