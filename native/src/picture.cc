#include "picture.h"

#include <gst/video/video.h>

#include <cstring>

SharedSample encode_picture(GstBuffer* buffer, GstCaps* caps, const std::string& type, std::string* error) {
  GstSample* sample = gst_sample_new(buffer, caps, nullptr, nullptr);
  GstCaps* to = gst_caps_new_empty_simple(type.c_str());
  GError* failure = nullptr;
  GstSample* picture = gst_video_convert_sample(sample, to, 5 * GST_SECOND, &failure);
  if (picture == nullptr) *error = "cannot make " + type + " of this frame" + (failure == nullptr ? "" : std::string(": ") + failure->message);
  g_clear_error(&failure);
  gst_caps_unref(to);
  gst_sample_unref(sample);
  return picture == nullptr ? nullptr : SharedSample(picture, [](GstSample* owned) { gst_sample_unref(owned); });
}

Napi::Value picture_bytes(Napi::Env env, const SharedSample& picture) {
  GstMapInfo map;
  GstBuffer* buffer = gst_sample_get_buffer(picture.get());
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) throw Napi::Error::New(env, "the picture cannot be read");
  auto out = Napi::Uint8Array::New(env, map.size);
  memcpy(out.Data(), map.data, map.size);
  gst_buffer_unmap(buffer, &map);
  return out;
}

bool set_jpeg_width(uint8_t* bytes, size_t size, int width) {
  // Segments up to the one that begins the frame: FF, kind, length of what follows with the length itself.
  for (size_t at = 2; at + 9 <= size && bytes[at] == 0xff;) {
    const uint8_t kind = bytes[at + 1];
    if (kind >= 0xc0 && kind <= 0xc2) {
      bytes[at + 7] = static_cast<uint8_t>(width >> 8);
      bytes[at + 8] = static_cast<uint8_t>(width & 0xff);
      return true;
    }
    at += 2 + (static_cast<size_t>(bytes[at + 2]) << 8 | bytes[at + 3]);
  }
  return false;
}
