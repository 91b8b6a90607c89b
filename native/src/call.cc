// Calls into JavaScript and their answers, and the metadata that answers leave on buffers. JS thread unless noted.
#include <unordered_map>

#include "element_core.h"

namespace {
// One per JS thread: calls that JavaScript has received and not settled.
struct LiveCalls {
  std::unordered_map<uint32_t, std::shared_ptr<Call>> calls;
  uint32_t next = 1;
};
thread_local LiveCalls live;

// Hands one call to JavaScript's dispatch(kind, core, call, …).
struct CallTask : Task {
  std::shared_ptr<Call> call;
  explicit CallTask(std::shared_ptr<Call> c) : call(std::move(c)) {}

  void dropped() override {
    std::lock_guard<std::mutex> lock(call->core->mutex);
    call->flow = GST_FLOW_FLUSHING;
    call->done = true;
    call->core->changed.notify_all();
  }
  void run(Napi::Env env) override {
    {
      std::lock_guard<std::mutex> lock(call->core->mutex);
      if (call->cancelled) return;
    }
    do call->id = live.next++;
    while (call->id == 0 || live.calls.count(call->id) != 0);
    live.calls[call->id] = call;

    std::vector<napi_value> arguments = {Napi::Number::New(env, static_cast<double>(call->kind)),
                                         Napi::Number::New(env, call->core->id), Napi::Number::New(env, call->id)};
    if (call->kind == CallKind::kFrame) {
      GstBuffer* buffer = call->buffer;
      MetadataBox* box = metadata_of(buffer);
      napi_value metadata = env.Undefined();
      if (box != nullptr && box->bridge == call->core->bridge) napi_get_reference_value(env, box->reference, &metadata);
      arguments.insert(arguments.end(), {Napi::Number::New(env, static_cast<double>(call->frame_index)),
                                         to_bigint(env, GST_BUFFER_PTS(buffer)), to_bigint(env, GST_BUFFER_DURATION(buffer)),
                                         to_bigint(env, call->capture_ns), Napi::Boolean::New(env, call->discontinuity), metadata});
    } else {
      // Properties of START are read here, not when it was posted: an update in between would be lost.
      const bool starts = call->kind == CallKind::kStart;
      arguments.push_back(Napi::String::New(env, starts ? call->payload + call->core->properties_json() + "}" : call->payload));
    }
    napi_value result;
    napi_status status = napi_call_function(env, env.Undefined(), call->core->bridge->dispatch.Value(), arguments.size(),
                                            arguments.data(), &result);
    if (status != napi_ok && live.calls.count(call->id) != 0) {
      // dispatch() catches all exceptions: this environment can no longer run JavaScript.
      bool pending = false;
      napi_is_exception_pending(env, &pending);
      call->settle(env, pending ? GST_FLOW_ERROR : GST_FLOW_FLUSHING, false, pending ? "JavaScript dispatch failed" : "", "");
      if (pending) throw Napi::Error::New(env);
    }
  }
};
}  // namespace

void post_call(const std::shared_ptr<Call>& call) { call->core->bridge->post(std::make_unique<CallTask>(call)); }
// Settles the call, detaches its views and aborts the signal of its frame.
void post_cancel(const std::shared_ptr<Call>& call) {
  call->core->bridge->run([call](Napi::Env env) {
    const uint32_t id = call->id;
    if (id == 0 || live.calls.count(id) == 0) return;
    call->settle(env, GST_FLOW_FLUSHING, false, "", "");
    call->core->bridge->dispatch.Call({Napi::Number::New(env, static_cast<double>(CallKind::kCancel)),
                                       Napi::Number::New(env, call->core->id), Napi::Number::New(env, id)});
  });
}

std::shared_ptr<Call> live_call(uint32_t id) {
  auto found = live.calls.find(id);
  return found == live.calls.end() ? nullptr : found->second;
}
size_t live_calls() { return live.calls.size(); }

Call::~Call() {
  unmap();
  if (metadata != nullptr) metadata->unref();
  if (buffer != nullptr) gst_buffer_unref(buffer);
  if (event != nullptr) gst_event_unref(event);
}
Span Call::span() const {
  auto ns = [](auto at) { return static_cast<uint64_t>(at.time_since_epoch().count()); };
  return {GST_BUFFER_PTS(buffer), ns(since), ns(std::chrono::steady_clock::now()), -1};
}

bool Call::map(std::string* why) {
  std::lock_guard<std::mutex> lock(map_mutex);
  if (mapped) return true;
  auto flags = core->spec->writes_pixels ? GST_MAP_READWRITE : GST_MAP_READ;
  if (is_video) {
    // NO_REF: a reference by the map would make the buffer shared, and a writable map would fail.
    mapped = gst_video_frame_map(&frame, &video, buffer, static_cast<GstMapFlags>(flags | GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
  } else {
    mapped = gst_buffer_map(buffer, &bytes, flags);
  }
  if (!mapped) *why = "cannot map the memory of this frame (is it device memory? put `decode` before this element)";
  return mapped;
}
void Call::unmap() {
  std::lock_guard<std::mutex> lock(map_mutex);
  if (!mapped) return;
  if (is_video) gst_video_frame_unmap(&frame);
  else gst_buffer_unmap(buffer, &bytes);
  mapped = false;
}
void Call::detach(Napi::Env env) {
  for (napi_ref view : views) {
    napi_value value = nullptr;
    if (napi_get_reference_value(env, view, &value) == napi_ok && value != nullptr) napi_detach_arraybuffer(env, value);
    napi_delete_reference(env, view);
  }
  views.clear();
}
bool Call::settle(Napi::Env env, GstFlowReturn outcome, bool dropped, std::string what, std::string where) {
  live.calls.erase(id);
  detach(env);
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    if (done || cancelled) return false;
    flow = outcome;
    drop = dropped;
    error = std::move(what);
    stack = std::move(where);
    done = true;
  }
  // Without the lock, which the woken thread takes: half the context switches per frame.
  core->changed.notify_all();
  return true;
}

// ------------------------------------------------------------------------------------------------ metadata

namespace {
struct WindhoverMeta {
  GstMeta meta;
  MetadataBox* box;
};

GType meta_api() {
  // Without tags: transforms, encoders and decoders copy it, whatever they do to the pixels.
  static const gchar* tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("WindhoverMetaAPI", tags);
  return type;
}
gboolean init_meta(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<WindhoverMeta*>(meta)->box = nullptr;
  return TRUE;
}
void free_meta(GstMeta* meta, GstBuffer*) {
  auto* box = reinterpret_cast<WindhoverMeta*>(meta)->box;
  if (box != nullptr) box->unref();
}
gboolean copy_meta(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark, gpointer) {
  auto* box = reinterpret_cast<WindhoverMeta*>(meta)->box;
  if (box != nullptr && metadata_of(to) == nullptr) metadata_set(to, box->ref());
  return TRUE;
}
const GstMetaInfo* meta_info() {
  static const GstMetaInfo* registered =
      gst_meta_register(meta_api(), "WindhoverMeta", sizeof(WindhoverMeta), init_meta, free_meta, copy_meta);
  return registered;
}
}  // namespace

MetadataBox* MetadataBox::create(std::shared_ptr<Bridge> bridge, napi_ref reference) {
  auto* box = new MetadataBox;
  box->reference = reference;
  box->bridge = std::move(bridge);
  box->bridge->boxes++;
  return box;
}
MetadataBox* MetadataBox::ref() {
  count_++;
  return this;
}
void MetadataBox::unref() {
  if (--count_ > 0) return;
  bridge->boxes--;
  bridge->retire(reference);
  delete this;
}

MetadataBox* metadata_of(GstBuffer* buffer) {
  auto* meta = reinterpret_cast<WindhoverMeta*>(gst_buffer_get_meta(buffer, meta_api()));
  return meta == nullptr ? nullptr : meta->box;
}
void metadata_set(GstBuffer* buffer, MetadataBox* box) {
  auto* meta = reinterpret_cast<WindhoverMeta*>(gst_buffer_get_meta(buffer, meta_api()));
  if (meta == nullptr) meta = reinterpret_cast<WindhoverMeta*>(gst_buffer_add_meta(buffer, meta_info(), nullptr));
  if (meta->box != nullptr) meta->box->unref();
  meta->box = box;
}
