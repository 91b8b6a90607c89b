// Frames, or parts of them, as PNG and JPEG.
#pragma once
#include <gst/gst.h>
#include <gst/video/video.h>
#include <napi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor.h"

using PictureBytes = std::vector<uint8_t>;

// Mirrors `PicturePart` in elements/element.ts. Values as given: encode_cut() checks them.
struct PictureCut {
  windhover::Region region;
  // Limit of the longer side; without it the part keeps its size. Parts are shrunk with their aspect, never enlarged.
  std::optional<double> most_pixels;
};

// Any thread but the JS thread: takes milliseconds. `caps` describe the buffer; `type` is image/png or image/jpeg.
// On failure `error` has the reason.
PictureBytes encode_picture(GstBuffer* buffer, GstCaps* caps, const std::string& type, std::string* error);
// A part of a frame, cropped before it is converted, so that the cost is that of the part. The caller keeps `frame` mapped
// for reading during the call. Threads and failure as above.
PictureBytes encode_cut(const GstVideoFrame& frame, const PictureCut& cut, const std::string& type, std::string* error);
// JS thread: a copy.
Napi::Uint8Array to_uint8_array(Napi::Env env, const PictureBytes& bytes);
