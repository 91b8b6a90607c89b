#include "yuv_planes.h"

#include <algorithm>
#include <cmath>

namespace windhover {
namespace {

struct Colorimetry {
  double kr, kb;
  // Luma of black, range of luma and of chroma, in levels.
  double y_offset, y_range, chroma_range;
};

Colorimetry read_colorimetry(const GstVideoInfo& info) {
  Colorimetry c{0, 0, 16, 219, 224};
  if (!gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &c.kr, &c.kb)) {
    // Unknown: BT.601 for SD and BT.709 for larger frames, as GStreamer assumes.
    const auto assumed = info.height > 576 ? GST_VIDEO_COLOR_MATRIX_BT709 : GST_VIDEO_COLOR_MATRIX_BT601;
    gst_video_color_matrix_get_Kr_Kb(assumed, &c.kr, &c.kb);
  }
  if (info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255) {
    c.y_offset = 0;
    c.y_range = c.chroma_range = 255;
  }
  return c;
}

uint8_t to_byte(double value) { return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0))); }

}  // namespace

bool view_planes(const GstVideoFrame& frame, YuvPlanes* planes, std::string* error) {
  const GstVideoFormat format = GST_VIDEO_FRAME_FORMAT(&frame);
  if (format != GST_VIDEO_FORMAT_I420 && format != GST_VIDEO_FORMAT_NV12) {
    const char* name = gst_video_format_to_string(format);
    *error = std::string("expected raw video in I420 or NV12, got ") + (name ? name : "an unknown format") +
             ": put `decode` or `videoconvert` before this element";
    return false;
  }
  const bool interleaved = format == GST_VIDEO_FORMAT_NV12;
  const auto data = [&](int plane) { return static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane)); };
  planes->width = GST_VIDEO_FRAME_WIDTH(&frame);
  planes->height = GST_VIDEO_FRAME_HEIGHT(&frame);
  planes->y = data(0);
  planes->u = data(1);
  planes->v = interleaved ? data(1) + 1 : data(2);
  planes->y_stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
  planes->u_stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 1);
  planes->v_stride = interleaved ? planes->u_stride : GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 2);
  planes->chroma_step = interleaved ? 2 : 1;
  if (planes->width < 1 || planes->height < 1) {
    *error = "expected a frame of at least 1 x 1 pixel, got an empty one";
    return false;
  }
  return true;
}

YuvToRgb yuv_to_rgb(const GstVideoInfo& info) {
  const Colorimetry c = read_colorimetry(info);
  const double kg = 1 - c.kr - c.kb, chroma = 255 / c.chroma_range;
  const double red = 2 * (1 - c.kr) * chroma, blue = 2 * (1 - c.kb) * chroma;
  return {static_cast<float>(c.y_offset),          static_cast<float>(255 / c.y_range),
          static_cast<float>(red),                 static_cast<float>(-blue * c.kb / kg),
          static_cast<float>(-red * c.kr / kg), static_cast<float>(blue)};
}

YuvColour yuv_from_rgb(const GstVideoInfo& info, uint32_t rgb) {
  const Colorimetry c = read_colorimetry(info);
  const double r = (rgb >> 16 & 255) / 255.0, g = (rgb >> 8 & 255) / 255.0, b = (rgb & 255) / 255.0;
  const double y = c.kr * r + (1 - c.kr - c.kb) * g + c.kb * b;
  return {to_byte(c.y_offset + c.y_range * y), to_byte(128 + c.chroma_range * (b - y) / (2 * (1 - c.kb))),
          to_byte(128 + c.chroma_range * (r - y) / (2 * (1 - c.kr)))};
}

}  // namespace windhover
