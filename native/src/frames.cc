// What JavaScript can do with a frame: map it, copy it, order kernels on it, settle it. JS thread throughout.
#include <gst/video/video.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "addon.h"
#include "draw.h"
#include "element_core.h"
#include "picture.h"
#include "tensor.h"

namespace {
using namespace windhover;

std::shared_ptr<Call> find_call(const Napi::CallbackInfo& info) { return live_call(info[0].As<Napi::Number>().Uint32Value()); }

std::shared_ptr<Call> call_of(const Napi::CallbackInfo& info) {
  auto call = find_call(info);
  if (call) return call;
  throw Napi::Error::New(info.Env(),
                         "the frame is no longer valid: its handler has settled or was cancelled (use frame.copy() to keep pixels)");
}

std::shared_ptr<Call> mapped_call(const Napi::CallbackInfo& info) {
  auto call = call_of(info);
  std::string why;
  if (!call->map(&why)) throw Napi::Error::New(info.Env(), why);
  return call;
}

// ------------------------------------------------------------------------------------------------ settling

// tune(call, inFlight, latencyNs): requests of a handler, during the call that starts it; 0 changes nothing
void tune(const Napi::CallbackInfo& info) {
  auto call = find_call(info);
  if (!call) return;  // cancelled meanwhile: it will not run
  auto& core = *call->core;
  const guint in_flight = info[1].As<Napi::Number>().Uint32Value();
  bool lossless;
  const uint64_t latency_ns = info[2].As<Napi::BigInt>().Uint64Value(&lossless);
  if (in_flight > 0) core.in_flight = std::min(in_flight, core.spec->in_flight);
  if (latency_ns > 0) core.latency_ns = latency_ns;
}

// settle(call, outcome, metadata | undefined, message, stack) -> whether the streaming thread still waited; outcome:
// 0 pass, 1 drop, 2 error, 3 discarded
Napi::Value settle(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto call = find_call(info);
  if (!call) return Napi::Boolean::New(env, false);
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

// ------------------------------------------------------------------------------------------------ mapping

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

// mapFrame(call) -> [{data, stride, width, height}]: GStreamer's own memory, detached when the call settles
Napi::Value map_frame(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto call = mapped_call(info);
  auto out = Napi::Array::New(env);
  for (const auto& plane : planes_of(*call)) {
    size_t length = plane.height == 0 ? 0 : plane.stride * (plane.height - 1) + plane.row_bytes;
    napi_value memory, view;
    napi_status status = napi_create_external_arraybuffer(env, plane.data, length, [](napi_env, void*, void*) {}, nullptr, &memory);
    if (status != napi_ok) throw Napi::Error::New(env, "this JavaScript engine does not support external memory");
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
  auto planes = planes_of(*mapped_call(info));
  size_t total = 0;
  for (const auto& plane : planes) total += plane.row_bytes * plane.height;
  auto out = Napi::Uint8Array::New(info.Env(), total);
  uint8_t* to = out.Data();
  for (const auto& plane : planes) {
    for (size_t row = 0; row < plane.height; row++, to += plane.row_bytes) memcpy(to, plane.data + row * plane.stride, plane.row_bytes);
  }
  return out;
}

// ------------------------------------------------------------------------------------------------ kernels

// A job whose outcome settles a promise.
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
  Napi::Promise::Deferred deferred = job->deferred;
  if (!call->core->order(call, std::move(job))) deferred.Reject(Napi::Error::New(env, "the frame was discarded").Value());
  return deferred.Promise();
}

struct TensorJob : PromisedJob {
  TensorOrder order;
  TensorGeometry geometry;
  void* target = nullptr;
  size_t elements = 0;
  bool as_float = true;
  napi_ref keep = nullptr;  // keeps the array alive while the kernel writes
  std::shared_ptr<Bridge> bridge;
  explicit TensorJob(Napi::Env env) : PromisedJob(env), bridge(Bridge::of(env)) {}
  ~TensorJob() override {
    if (keep != nullptr) bridge->retire(keep);
  }
  std::string execute(GstVideoFrame& frame) override {
    std::string error;
    fill_tensor(frame, order, target, elements, as_float, &geometry, &error);
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
    throw Napi::TypeError::New(env, "expected a Float32Array or a Uint8Array as the target of a tensor");
  job->as_float = type == napi_float32_array;
  job->order = tensor_order(info[2].As<Napi::Object>());
  napi_create_reference(env, info[1], 1, &job->keep);
  return order(env, call, std::move(job));
}

// Reads shapes in the order in which native/frame.ts packs them.
class ShapeReader {
 public:
  ShapeReader(const Napi::Float64Array& numbers, const Napi::Array& texts)
      : env_(numbers.Env()), at_(numbers.Data()), end_(at_ + numbers.ElementLength()), texts_(texts) {}

  bool more() const { return at_ < end_; }
  double number() {
    if (!more()) throw Napi::RangeError::New(env_, "a shape is incomplete");
    return *at_++;
  }
  // A number that is not a colour becomes an invalid one, for which draw_shapes() reports the shape.
  uint32_t colour() { return to_colour(number()); }
  static uint32_t to_colour(double value) {
    return value >= 0 && value <= 0xffffff ? static_cast<uint32_t>(value) : 0xffffffff;
  }
  std::string text() { return texts_.Get(next_text_++).ToString().Utf8Value(); }
  std::vector<Point> points() {
    const double count = number();
    if (!(count >= 0 && count <= static_cast<double>(end_ - at_))) throw Napi::RangeError::New(env_, "a line is incomplete");
    std::vector<Point> points(static_cast<size_t>(count) / 2);
    for (Point& point : points) point = {at_[0], at_[1]}, at_ += 2;
    at_ += static_cast<size_t>(count) % 2;
    return points;
  }

 private:
  Napi::Env env_;
  const double *at_, *end_;
  const Napi::Array& texts_;
  uint32_t next_text_ = 0;
};

Shape read_box(ShapeReader& from) {
  BoxShape box;
  box.x = from.number(), box.y = from.number(), box.width = from.number(), box.height = from.number();
  box.colour = from.colour(), box.thickness = from.number(), box.opacity = from.number(), box.dash = from.number();
  return box;
}
Shape read_fill(ShapeReader& from) {
  FillShape fill;
  fill.x = from.number(), fill.y = from.number(), fill.width = from.number(), fill.height = from.number();
  fill.colour = from.colour(), fill.opacity = from.number();
  return fill;
}
Shape read_line(ShapeReader& from) {
  LineShape line;
  line.colour = from.colour(), line.thickness = from.number(), line.opacity = from.number(), line.start = from.number();
  line.points = from.points();
  return line;
}
Shape read_text(ShapeReader& from) {
  TextShape text;
  text.x = from.number(), text.y = from.number(), text.size = from.number(), text.colour = from.colour();
  const double background = from.number();
  if (background >= 0) text.background = ShapeReader::to_colour(background);
  text.opacity = from.number();
  text.text = from.text();
  return text;
}
Shape read_hide(ShapeReader& from) {
  HideShape hide;
  hide.x = from.number(), hide.y = from.number(), hide.width = from.number(), hide.height = from.number();
  hide.block = from.number(), hide.smooth = from.number() != 0;
  return hide;
}
std::vector<Shape> read_shapes(const Napi::Float64Array& numbers, const Napi::Array& texts) {
  // In the order of the codes in native/frame.ts.
  static constexpr Shape (*readers[])(ShapeReader&) = {read_box, read_fill, read_line, read_text, read_hide};
  std::vector<Shape> shapes;
  ShapeReader from(numbers, texts);
  while (from.more()) {
    const double code = from.number();
    if (!(code >= 0 && code < std::size(readers))) throw Napi::RangeError::New(numbers.Env(), "unknown shape code");
    shapes.push_back(readers[static_cast<size_t>(code)](from));
  }
  return shapes;
}

struct DrawJob : PromisedJob {
  std::vector<Shape> shapes;
  using PromisedJob::PromisedJob;
  std::string execute(GstVideoFrame& frame) override {
    std::string error;
    draw_shapes(frame, shapes, &error);
    return error;
  }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }
};

// orderDraw(call, numbers, texts) -> Promise
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
  std::optional<PictureCut> cut;  // none: the whole frame in its own format
  PictureBytes bytes;
  using PromisedJob::PromisedJob;
  std::string execute(GstVideoFrame& frame) override {
    std::string error;
    if (cut) {
      bytes = encode_cut(frame, *cut, type, &error);
    } else {
      GstCaps* caps = gst_video_info_to_caps(&frame.info);
      bytes = encode_picture(frame.buffer, caps, type, &error);
      gst_caps_unref(caps);
    }
    return error;
  }
  Napi::Value result(Napi::Env env) override { return to_uint8_array(env, bytes); }
};

// orderImage(call, "image/png" | "image/jpeg", part | undefined) -> Promise<Uint8Array>
Napi::Value order_image(const Napi::CallbackInfo& info) {
  auto job = std::make_unique<ImageJob>(info.Env());
  job->type = info[1].As<Napi::String>().Utf8Value();
  if (info[2].IsObject()) {
    auto part = info[2].As<Napi::Object>();
    job->cut.emplace();
    if (part.Get("region").IsObject()) job->cut->region = read_region(part.Get("region").As<Napi::Object>());
    if (!part.Get("mostPixels").IsUndefined()) job->cut->most_pixels = part.Get("mostPixels").ToNumber().DoubleValue();
  }
  return order(info.Env(), call_of(info), std::move(job));
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
}
