#include "observe.h"

#include <atomic>

#include "metadata.h"
#include "picture.h"
#include "ts_element.h"

namespace {
// Buffers of one tap that wait for the JS thread.
constexpr int kQueued = 256;

Napi::Value nanoseconds(Napi::Env env, GstClockTime value) {
  return GST_CLOCK_TIME_IS_VALID(value) ? Napi::Value(Napi::BigInt::New(env, static_cast<uint64_t>(value))) : env.Null();
}

struct Tap {
  std::shared_ptr<Bridge> bridge;
  napi_ref callback;
  std::atomic<bool> on{true};
  std::atomic<int> queued{0};
  std::atomic<uint64_t> lost{0};
  ~Tap() { bridge->retire(callback); }
};
struct TapTask : Task {
  std::shared_ptr<Tap> tap;
  GstClockTime pts, duration;
  uint64_t bytes, lost;
  bool keyframe, discontinuity;
  std::string caps;
  MetadataBox* box;
  ~TapTask() override {
    tap->queued--;
    if (box != nullptr) box->unref();
  }
  void run(Napi::Env env) override {
    napi_value function = nullptr;
    napi_get_reference_value(env, tap->callback, &function);
    if (function == nullptr || !tap->on) return;
    auto out = Napi::Object::New(env);
    out.Set("ptsNs", nanoseconds(env, pts));
    out.Set("durationNs", nanoseconds(env, duration));
    out.Set("bytes", static_cast<double>(bytes));
    out.Set("keyframe", keyframe);
    out.Set("discontinuity", discontinuity);
    out.Set("caps", caps);
    out.Set("lost", static_cast<double>(lost));
    napi_value meta;
    if (box != nullptr && box->bridge == tap->bridge) napi_get_reference_value(env, box->reference, &meta);
    else meta = Napi::Object::New(env);
    out.Set("meta", Napi::Value(env, meta));
    Napi::Function(env, function).Call({out});
  }
};
}  // namespace

Napi::Value tap_node(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* element, Napi::Function callback) {
  auto tap = std::make_shared<Tap>();
  tap->bridge = bridge;
  napi_create_reference(env, callback, 1, &tap->callback);
  tap_buffers(element, [tap](GstPad* pad, GstBuffer* buffer) {
    if (!tap->on) return false;
    if (tap->queued >= kQueued) {
      tap->lost++;
      return true;
    }
    auto task = std::make_unique<TapTask>();
    tap->queued++;
    task->tap = tap;
    task->pts = GST_BUFFER_PTS(buffer);
    task->duration = GST_BUFFER_DURATION(buffer);
    task->bytes = gst_buffer_get_size(buffer);
    task->lost = tap->lost.exchange(0);
    task->keyframe = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    task->discontinuity = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    if (GstCaps* caps = gst_pad_get_current_caps(pad)) {
      gchar* text = gst_caps_to_string(caps);
      task->caps = text;
      g_free(text);
      gst_caps_unref(caps);
    }
    MetadataBox* box = metadata_of(buffer);
    task->box = box == nullptr ? nullptr : box->ref();
    tap->bridge->post(std::move(task));
    return true;
  });
  return Napi::Function::New(env, [tap](const Napi::CallbackInfo&) { tap->on = false; });
}

Napi::Value grab_frame(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* element, GstClockTime at, const std::string& type) {
  auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
  tap_buffers(element, [bridge, at, type, deferred](GstPad* pad, GstBuffer* buffer) {
    GstClockTime pts = GST_BUFFER_PTS(buffer);
    if (GST_CLOCK_TIME_IS_VALID(pts) && pts < at) return true;
    // Encoded here, on the streaming thread: the control thread may be the one that waits for this frame to pass.
    GstCaps* caps = gst_pad_get_current_caps(pad);
    std::string error;
    SharedSample picture = encode_picture(buffer, caps, type, &error);
    if (caps != nullptr) gst_caps_unref(caps);
    bridge->post([deferred, picture, error, pts](Napi::Env env) {
      if (!picture) {
        deferred->Reject(Napi::Error::New(env, error).Value());
        return;
      }
      auto out = Napi::Object::New(env);
      out.Set("image", picture_bytes(env, picture));
      out.Set("ptsNs", nanoseconds(env, pts));
      deferred->Resolve(out);
    });
    return false;
  });
  return deferred->Promise();
}

Napi::Object meter_reading(Napi::Env env, GstElement* element, const Meter& meter) {
  auto entry = Napi::Object::New(env);
  uint64_t in = meter.in, left = meter.out;
  auto core = ts_element_core(element);
  auto times = core ? core->durations.summary() : meter.durations.summary();
  entry.Set("in", static_cast<double>(in));
  entry.Set("out", static_cast<double>(left));
  entry.Set("meanMs", times.mean_ms);
  entry.Set("p50Ms", times.p50_ms);
  entry.Set("p95Ms", times.p95_ms);
  uint64_t dropped = core ? core->dropped.load() : 0;
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "current-level-buffers") != nullptr &&
      g_object_class_find_property(G_OBJECT_GET_CLASS(element), "max-size-buffers") != nullptr) {
    guint queued = 0, capacity = 0;
    g_object_get(element, "current-level-buffers", &queued, "max-size-buffers", &capacity, nullptr);
    entry.Set("queued", queued);
    entry.Set("capacity", capacity);
    // Counted at different moments: a frame between the two probes is not a drop.
    dropped = in > left + queued + 1 ? in - left - queued : 0;
  }
  entry.Set("dropped", static_cast<double>(dropped));
  return entry;
}
