// The planes of an I420 or NV12 frame and its colour conversion.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <string>

namespace windhover {

// Borrowed from a mapped GstVideoFrame: valid until it is unmapped; writable, by the thread that mapped it, if it was mapped
// for writing.
struct YuvPlanes {
  int width = 0;
  int height = 0;
  uint8_t* y = nullptr;
  uint8_t* u = nullptr;
  uint8_t* v = nullptr;
  int y_stride = 0;
  int u_stride = 0;
  int v_stride = 0;
  // Bytes from one U (or V) sample to the next: 1 in I420, 2 in NV12.
  int chroma_step = 1;

  int chroma_width() const { return (width + 1) / 2; }
  int chroma_height() const { return (height + 1) / 2; }
};

// False, with the reason and a remedy in `error`, for other pixel formats.
bool view_planes(const GstVideoFrame& frame, YuvPlanes* planes, std::string* error);

// r = (y - y_offset) * y_scale + r_from_v * (v - 128) etc.; all from 0 to 255, before clamping.
struct YuvToRgb {
  float y_offset, y_scale, r_from_v, g_from_u, g_from_v, b_from_u;
};
YuvToRgb yuv_to_rgb(const GstVideoInfo& info);

struct YuvColour {
  uint8_t y, u, v;
};
YuvColour yuv_from_rgb(const GstVideoInfo& info, uint32_t rgb);

}  // namespace windhover
