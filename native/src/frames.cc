// What JavaScript can do with a frame it has been given: look, copy, order kernels, settle. JS thread throughout.
#include <gst/video/video.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "addon.h"
#include "cut.h"
#include "draw.h"
#include "element_core.h"
#include "kernels.h"
#include "picture.h"
#include "shapes.h"
#include "tensor.h"

namespace {
using windhover::PictureCut;
using windhover::Region;
using windhover::Shape;
using windhover::TensorGeometry;
using windhover::TensorOrder;

std::shared_ptr<Call> call_of(const Napi::CallbackInfo& info) { return live_call(info.Env(), info[0].As<Napi::Number>().Uint32Value()); }

void map_or_throw(Napi::Env env, Call& call) {
  std::string why;
  if (!call.map(&why)) throw Napi::Error::New(env, why);
}

// ------------------------------------------------------------------------------------------------ settling

// tune(call, inFlight, latencyNs): what a handler asks for, told within the call that starts it; 0 changes nothing
Napi::Value tune(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  std::shared_ptr<Call> call;
  try {
    call = call_of(info);
  } catch (const Napi::Error&) {
    return env.Undefined();  // cancelled meanwhile: it will not run
  }
  auto& core = *call->core;
  const guint in_flight = info[1].As<Napi::Number>().Uint32Value();
  bool lossless;
  const uint64_t latency_ns = info[2].As<Napi::BigInt>().Uint64Value(&lossless);
  if (in_flight > 0) core.in_flight = std::min(in_flight, core.spec->in_flight);
  if (latency_ns > 0) core.latency_ns = latency_ns;
  return env.Undefined();
}

// settle(call, outcome, metadata | undefined, message, stack); outcome: 0 on, 1 drop, 2 error, 3 discarded
Napi::Value settle(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  std::shared_ptr<Call> call;
  try {
    call = call_of(info);
  } catch (const Napi::Error&) {
    return Napi::Boolean::New(env, false);  // cancelled meanwhile: nobody waits for the answer
  }
  uint32_t outcome = info[1].As<Napi::Number>().Uint32Value();
  if (info[2].IsObject() && call->buffer != nullptr) {
    napi_ref reference;
    napi_create_reference(env, info[2], 1, &reference);
    call->metadata = MetadataBox::create(call->core->bridge, reference);
  }
  GstFlowReturn flow = outcome == 2 ? GST_FLOW_ERROR : outcome == 3 ? GST_FLOW_FLUSHING : GST_FLOW_OK;
  auto text = [&](size_t i) { return info[i].IsString() ? info[i].As<Napi::String>().Utf8Value() : std::string(); };
  return Napi::Boolean::New(env, call->settle(env, flow, outcome == 1, text(3), text(4)));
}

// ------------------------------------------------------------------------------------------------ looking

struct PlaneShape {
  uint8_t* data;
  size_t stride, row_bytes, width, height;
};
std::vector<PlaneShape> planes_of(Call& call) {
  if (!call.is_video) return {{call.bytes.data, call.bytes.size, call.bytes.size, call.bytes.size, 1}};
  std::vector<PlaneShape> planes;
  const GstVideoFrame* frame = &call.frame;
  const GstVideoFormatInfo* format = frame->info.finfo;
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(format, plane, components);
    size_t width = static_cast<size_t>(GST_VIDEO_FRAME_COMP_WIDTH(frame, components[0]));
    size_t height = static_cast<size_t>(GST_VIDEO_FRAME_COMP_HEIGHT(frame, components[0]));
    size_t row = width * static_cast<size_t>(GST_VIDEO_FRAME_COMP_PSTRIDE(frame, components[0]));
    auto stride = static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane));
    planes.push_back({static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(frame, plane)), stride, row == 0 ? stride : row, width, height});
  }
  return planes;
}

// mapFrame(call) -> [{data, stride, width, height}]: GStreamer's own memory, taken away when the call settles
Napi::Value map_frame(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto call = call_of(info);
  map_or_throw(env, *call);
  auto out = Napi::Array::New(env);
  for (const auto& plane : planes_of(*call)) {
    size_t length = plane.height == 0 ? 0 : plane.stride * (plane.height - 1) + plane.row_bytes;
    napi_value memory, view;
    napi_status status = napi_create_external_arraybuffer(env, plane.data, length, [](napi_env, void*, void*) {}, nullptr, &memory);
    if (status != napi_ok) throw Napi::Error::New(env, "this JavaScript engine refuses external memory");
    napi_ref reference;
    napi_create_reference(env, memory, 1, &reference);
    call->views.push_back(reference);
    napi_create_typedarray(env, napi_uint8_array, length, memory, 0, &view);
    auto entry = Napi::Object::New(env);
    entry.Set("data", Napi::Value(env, view));
    entry.Set("stride", static_cast<double>(plane.stride));
    entry.Set("width", static_cast<double>(plane.width));
    entry.Set("height", static_cast<double>(plane.height));
    out.Set(out.Length(), entry);
  }
  return out;
}

// copyFrame(call) -> Uint8Array, rows without padding
Napi::Value copy_frame(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto call = call_of(info);
  map_or_throw(env, *call);
  auto planes = planes_of(*call);
  size_t total = 0;
  for (const auto& plane : planes) total += plane.row_bytes * plane.height;
  auto out = Napi::Uint8Array::New(env, total);
  uint8_t* to = out.Data();
  for (const auto& plane : planes) {
    for (size_t row = 0; row < plane.height; row++, to += plane.row_bytes) memcpy(to, plane.data + row * plane.stride, plane.row_bytes);
  }
  return out;
}

// ------------------------------------------------------------------------------------------------ kernels

// A job whose outcome is a promise.
struct PromisedJob : Job {
  Napi::Promise::Deferred deferred;
  explicit PromisedJob(Napi::Env env) : deferred(env) {}
  virtual Napi::Value result(Napi::Env env) = 0;
  void finished(Napi::Env env, const std::string& error) override {
    if (error.empty()) deferred.Resolve(result(env));
    else deferred.Reject(Napi::Error::New(env, error).Value());
  }
};
template <typename Kind>
Napi::Value order(Napi::Env env, const std::shared_ptr<Call>& call, std::unique_ptr<Kind> job) {
  auto promise = job->deferred.Promise();
  auto* raw = job.get();
  Napi::Promise::Deferred deferred = raw->deferred;
  if (!call->core->order(call, std::move(job))) deferred.Reject(Napi::Error::New(env, "the frame was discarded").Value());
  return promise;
}

struct TensorJob : PromisedJob {
  TensorOrder order;
  TensorGeometry geometry;
  void* target = nullptr;
  size_t elements = 0;
  bool as_float = true;
  napi_ref keep = nullptr;  // the array's memory stays while the kernel writes
  std::shared_ptr<Bridge> bridge;
  explicit TensorJob(Napi::Env env) : PromisedJob(env), bridge(Bridge::of(env)) {}
  ~TensorJob() override {
    if (keep != nullptr) bridge->retire(keep);
  }
  std::string execute(GstVideoFrame& frame) override {
    std::string error;
    windhover::fill_tensor(frame, order, target, elements, as_float, &geometry, &error);
    return error;
  }
  Napi::Value result(Napi::Env env) override {
    auto out = Napi::Object::New(env);
    out.Set("scaleX", geometry.scale_x);
    out.Set("scaleY", geometry.scale_y);
    out.Set("offsetX", geometry.offset_x);
    out.Set("offsetY", geometry.offset_y);
    out.Set("originX", geometry.origin_x);
    out.Set("originY", geometry.origin_y);
    return out;
  }
};

Region read_region(Napi::Object from) {
  return {from.Get("x").ToNumber(), from.Get("y").ToNumber(), from.Get("width").ToNumber(), from.Get("height").ToNumber()};
}

TensorOrder tensor_order(Napi::Object from) {
  TensorOrder order;
  auto is = [&](const char* key, const char* value) { return from.Get(key).ToString().Utf8Value() == value; };
  order.width = from.Get("width").ToNumber();
  order.height = from.Get("height").ToNumber();
  order.fit = is("fit", "stretch") ? TensorOrder::Fit::stretch : TensorOrder::Fit::letterbox;
  order.anchor = is("anchor", "top-left") ? TensorOrder::Anchor::top_left : TensorOrder::Anchor::centre;
  order.layout = is("layout", "nhwc") ? TensorOrder::Layout::nhwc : TensorOrder::Layout::nchw;
  order.colours = is("colours", "bgr") ? TensorOrder::Colours::bgr : TensorOrder::Colours::rgb;
  auto three = [&](const char* key, double* into) {
    if (!from.Get(key).IsArray()) return;
    auto array = from.Get(key).As<Napi::Array>();
    for (uint32_t i = 0; i < 3; i++) into[i] = array.Get(i).ToNumber().DoubleValue();
  };
  three("mean", order.mean);
  three("std", order.std_dev);
  if (from.Get("padding").IsNumber()) order.padding = from.Get("padding").ToNumber();
  if (from.Get("region").IsObject()) order.region = read_region(from.Get("region").As<Napi::Object>());
  return order;
}

// orderTensor(call, Float32Array | Uint8Array, order) -> Promise<geometry>
Napi::Value order_tensor(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto call = call_of(info);
  auto job = std::make_unique<TensorJob>(env);
  napi_typedarray_type type;
  napi_value memory;
  size_t offset;
  if (napi_get_typedarray_info(env, info[1], &type, &job->elements, &job->target, &memory, &offset) != napi_ok ||
      (type != napi_float32_array && type != napi_uint8_array))
    throw Napi::TypeError::New(env, "the target of a tensor is a Float32Array or a Uint8Array");
  job->as_float = type == napi_float32_array;
  job->order = tensor_order(info[2].As<Napi::Object>());
  napi_create_reference(env, info[1], 1, &job->keep);
  return order(env, call, std::move(job));
}

struct DrawJob : PromisedJob {
  std::vector<Shape> shapes;
  using PromisedJob::PromisedJob;
  std::string execute(GstVideoFrame& frame) override {
    std::string error;
    windhover::draw_shapes(frame, shapes, &error);
    return error;
  }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }
};

// orderDraw(call, numbers, texts) -> Promise; see native/shapes.ts
Napi::Value order_draw(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto call = call_of(info);
  if (!call->core->spec->writes_pixels)
    throw Napi::Error::New(env, "element \"" + call->core->spec->name + "\" must be defined with access: \"write\" to draw");
  auto job = std::make_unique<DrawJob>(env);
  job->shapes = read_shapes(info[1].As<Napi::Float64Array>(), info[2].As<Napi::Array>());
  return order(env, call, std::move(job));
}

struct ImageJob : PromisedJob {
  std::string type;
  // All of the frame, as it is, without one.
  std::optional<PictureCut> cut;
  // Of the cut.
  int width = 0;
  SharedSample picture;
  using PromisedJob::PromisedJob;
  std::string execute(GstVideoFrame& frame) override {
    std::string error;
    if (!cut) {
      encode(frame.buffer, frame.info, &error);
      return error;
    }
    GstVideoInfo info;
    // `jpegenc` fills the last block of a row up with whatever is in memory: it gets whole blocks.
    GstBuffer* part = windhover::cut_frame(frame, *cut, is_jpeg() ? 16 : 1, &info, &width, &error);
    // Else it would write RGB, which is larger, and which some who read JPEGs take for something else.
    if (part != nullptr && is_jpeg()) part = windhover::to_jpeg_colours(part, &info, &error);
    if (part == nullptr) return error;
    encode(part, info, &error);
    gst_buffer_unref(part);
    return error;
  }
  void encode(GstBuffer* buffer, const GstVideoInfo& info, std::string* error) {
    GstCaps* caps = gst_video_info_to_caps(&info);
    picture = encode_picture(buffer, caps, type, error);
    gst_caps_unref(caps);
  }
  Napi::Value result(Napi::Env env) override {
    auto bytes = picture_bytes(env, picture).As<Napi::Uint8Array>();
    if (cut && is_jpeg()) set_jpeg_width(bytes.Data(), bytes.ByteLength(), width);
    return bytes;
  }
  bool is_jpeg() const { return type == "image/jpeg"; }
};

// orderImage(call, "image/png" | "image/jpeg", part | undefined) -> Promise<Uint8Array>
Napi::Value order_image(const Napi::CallbackInfo& info) {
  auto job = std::make_unique<ImageJob>(info.Env());
  job->type = info[1].As<Napi::String>().Utf8Value();
  if (info[2].IsObject()) {
    auto part = info[2].As<Napi::Object>();
    job->cut.emplace();
    if (part.Get("region").IsObject()) job->cut->region = read_region(part.Get("region").As<Napi::Object>());
    // 0 means that nothing was asked for, which nobody can ask for.
    if (!part.Get("mostPixels").IsUndefined()) {
      const double most = part.Get("mostPixels").ToNumber();
      job->cut->most_pixels = most == 0 ? -1 : most;
    }
  }
  return order(info.Env(), call_of(info), std::move(job));
}

// kernelSets() -> the names of the sets that this CPU can run, from the slowest to the fastest
Napi::Value kernel_sets(const Napi::CallbackInfo& info) {
  const windhover::Kernels* sets[windhover::most_kernel_sets];
  auto names = Napi::Array::New(info.Env());
  for (int i = 0, count = windhover::list_kernels(sets); i < count; i++) names.Set(static_cast<uint32_t>(i), sets[i]->name);
  return names;
}

// useKernelSet(name): from the next frame on
void use_kernel_set(const Napi::CallbackInfo& info) {
  const auto name = info[0].ToString().Utf8Value();
  if (!windhover::use_kernels(name.c_str()))
    throw Napi::RangeError::New(info.Env(), "expected one of kernelSets(), got \"" + name + "\"");
}
}  // namespace

void export_frames(Napi::Env env, Napi::Object exports) {
  exports.Set("tune", Napi::Function::New(env, tune));
  exports.Set("settle", Napi::Function::New(env, settle));
  exports.Set("mapFrame", Napi::Function::New(env, map_frame));
  exports.Set("copyFrame", Napi::Function::New(env, copy_frame));
  exports.Set("orderTensor", Napi::Function::New(env, order_tensor));
  exports.Set("orderDraw", Napi::Function::New(env, order_draw));
  exports.Set("orderImage", Napi::Function::New(env, order_image));
  exports.Set("kernelSets", Napi::Function::New(env, kernel_sets));
  exports.Set("useKernelSet", Napi::Function::New(env, use_kernel_set));
}
