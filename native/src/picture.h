// Frames as picture files.
#pragma once
#include <gst/gst.h>
#include <napi.h>

#include <memory>
#include <string>

using SharedSample = std::shared_ptr<GstSample>;

// Any thread but the JS thread: takes some milliseconds. `caps` describe the buffer; `type` is image/png or image/jpeg.
// Null with the reason in `error` when it cannot be done.
SharedSample encode_picture(GstBuffer* buffer, GstCaps* caps, const std::string& type, std::string* error);
// JS thread: a copy of the bytes.
Napi::Value picture_bytes(Napi::Env env, const SharedSample& picture);
// Tells decoders of a JPEG to show this many columns and no more. False when the bytes are none.
bool set_jpeg_width(uint8_t* bytes, size_t size, int width);
