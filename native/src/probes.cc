#include "probes.h"

#include <chrono>
#include <functional>
#include <limits>
#include <vector>

#include "gst_cpp.h"
#include "picture.h"
#include "ts_element.h"

namespace {
// Buffers of one tap that may wait for the JS thread.
constexpr int kQueued = 256;

guint64 now_ns() { return static_cast<guint64>(std::chrono::steady_clock::now().time_since_epoch().count()); }

Ref<GstPad> first_pad(GstElement* element, GstPadDirection direction) {
  Ref<GstPad> pad;
  GST_OBJECT_LOCK(element);
  GList* pads = direction == GST_PAD_SRC ? element->srcpads : element->sinkpads;
  if (pads != nullptr) pad = new_ref(GST_PAD(pads->data));
  GST_OBJECT_UNLOCK(element);
  return pad;
}
// The presence of its first source template; false for sinks.
bool has_output(GstElement* element, GstPadPresence* presence = nullptr) {
  for (GList* at = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element)); at != nullptr; at = at->next) {
    auto* pad_template = GST_PAD_TEMPLATE(at->data);
    if (GST_PAD_TEMPLATE_DIRECTION(pad_template) != GST_PAD_SRC) continue;
    if (presence != nullptr) *presence = GST_PAD_TEMPLATE_PRESENCE(pad_template);
    return true;
  }
  return false;
}

using Visit = std::function<GstPadProbeReturn(GstPad*, GstPadProbeInfo*)>;
GstPadProbeReturn on_probe(GstPad* pad, GstPadProbeInfo* info, gpointer data) { return (*static_cast<Visit*>(data))(pad, info); }
void add_probe(GstPad* pad, Visit visit, GstPadProbeType type = GST_PAD_PROBE_TYPE_BUFFER) {
  gst_pad_add_probe(pad, type, on_probe, new Visit(std::move(visit)), delete_data<Visit>);
}

// Probes the output of a node; the input of sinks, and of tees, whose outputs come and go and all carry the same buffers.
void on_frames(GstElement* element, Visit visit) {
  GstPadPresence presence;
  const bool at_input = !has_output(element, &presence) || presence == GST_PAD_REQUEST;
  if (auto pad = first_pad(element, at_input ? GST_PAD_SINK : GST_PAD_SRC)) return add_probe(pad.get(), std::move(visit));
  if (at_input) return;
  // Pads of demuxers and autopluggers appear later. Unlinked ones, such as an audio stream that is not used, push too.
  auto added = [](GstElement*, GstPad* pad, gpointer data) {
    if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC) return;
    add_probe(pad, [visit = *static_cast<Visit*>(data)](GstPad* pad, GstPadProbeInfo* info) {
      return gst_pad_is_linked(pad) ? visit(pad, info) : GST_PAD_PROBE_OK;
    });
  };
  connect_owning(element, "pad-added", G_CALLBACK(+added), new Visit(std::move(visit)));
}

// Calls `seen` on the streaming thread for every buffer until it returns false.
void tap_buffers(GstElement* element, std::function<bool(GstPad*, GstBuffer*)> seen) {
  on_frames(element, [seen = std::move(seen)](GstPad* pad, GstPadProbeInfo* info) {
    return seen(pad, GST_PAD_PROBE_INFO_BUFFER(info)) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_REMOVE;
  });
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
    out.Set("ptsNs", to_bigint(env, pts));
    out.Set("durationNs", to_bigint(env, duration));
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

std::string limit_stream(GstElement* element, uint64_t frames, uint64_t until_ns) {
  if (!has_output(element)) return "a stream can only be limited at a node that has an output";
  struct State {
    uint64_t frames, until_ns, seen = 0;
    GstClockTime first = GST_CLOCK_TIME_NONE;
    std::atomic<bool> ended{false};
  };
  auto state = std::make_shared<State>();
  state->frames = frames;
  state->until_ns = until_ns;
  on_frames(element, [state](GstPad* pad, GstPadProbeInfo* info) {
    GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    GstClockTime pts = GST_BUFFER_PTS(buffer);
    if (state->first == GST_CLOCK_TIME_NONE) state->first = pts;
    bool late = state->until_ns > 0 && GST_CLOCK_TIME_IS_VALID(pts) && GST_CLOCK_TIME_IS_VALID(state->first) &&
                pts >= state->first + state->until_ns;
    bool enough = state->frames > 0 && state->seen >= state->frames;
    if (!late && !enough) {
      state->seen++;
      return GST_PAD_PROBE_OK;
    }
    if (!state->ended.exchange(true)) {
      if (GST_PAD_IS_SRC(pad)) gst_pad_push_event(pad, gst_event_new_eos());
      else gst_pad_send_event(pad, gst_event_new_eos());
    }
    gst_buffer_unref(buffer);  // HANDLED: the probe owns it
    GST_PAD_PROBE_INFO_DATA(info) = nullptr;
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
    return GST_PAD_PROBE_HANDLED;
  });
  return {};
}

namespace {
// Larger packets are not metadata of a camera.
constexpr gsize kPacketBytes = 65536;

struct PacketTask : Task {
  std::shared_ptr<Tap> tap;
  std::vector<uint8_t> data;
  std::string caps, stream;
  uint64_t capture_ns;
  ~PacketTask() override { tap->queued--; }
  void run(Napi::Env env) override {
    napi_value function = nullptr;
    napi_get_reference_value(env, tap->callback, &function);
    if (function == nullptr || !tap->on) return;
    auto out = Napi::Object::New(env);
    auto bytes = Napi::Uint8Array::New(env, data.size());
    std::copy(data.begin(), data.end(), bytes.Data());
    out.Set("data", bytes);
    out.Set("caps", caps);
    out.Set("stream", stream);
    out.Set("captureNs", capture_ns == 0 ? env.Null() : Napi::Value(Napi::BigInt::New(env, capture_ns)));
    Napi::Function(env, function).Call({out});
  }
};

struct PacketTap {
  std::shared_ptr<Tap> tap;
  Ref<GstCaps> caps;
  std::function<uint64_t(GstBuffer*, const GstSegment*)> capture_ns;
};
using PacketShare = std::shared_ptr<PacketTap>;

// Streaming thread.
void take_packet(const PacketShare& share, GstPad* pad, GstBuffer* buffer) {
  auto& tap = share->tap;
  if (gst_buffer_get_size(buffer) > kPacketBytes) return;
  if (tap->queued >= kQueued) {
    tap->lost++;
    return;
  }
  auto task = std::make_unique<PacketTask>();
  tap->queued++;
  task->tap = tap;
  task->data.resize(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, task->data.data(), task->data.size());
  if (Ref<GstCaps> caps{gst_pad_get_current_caps(pad)}) task->caps = text_of(caps.get());
  task->stream = GST_PAD_NAME(pad);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  if (GstEvent* event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0)) {
    gst_event_copy_segment(event, &segment);
    gst_event_unref(event);
  }
  task->capture_ns = share->capture_ns(buffer, &segment);
  tap->bridge->post(std::move(task));
}

void on_packet_pad(GstElement*, GstPad* pad, gpointer data) {
  const auto& share = *static_cast<PacketShare*>(data);
  Ref<GstCaps> caps(gst_pad_get_current_caps(pad));
  if (!caps) caps.reset(gst_pad_query_caps(pad, nullptr));
  if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC || !gst_caps_can_intersect(caps.get(), share->caps.get())) return;
  add_probe(pad, [share](GstPad* pad, GstPadProbeInfo* info) {
    if (gst_pad_is_linked(pad)) return GST_PAD_PROBE_OK;
    take_packet(share, pad, GST_PAD_PROBE_INFO_BUFFER(info));
    // Where nothing is linked, a jitter buffer would stop at its first packet.
    return GST_PAD_PROBE_DROP;
  });
}
}  // namespace

void tap_packets(const std::shared_ptr<Bridge>& bridge, Napi::Env env, GstElement* element, Ref<GstCaps> caps,
                 std::function<uint64_t(GstBuffer*, const GstSegment*)> capture_ns, Napi::Function callback) {
  auto share = std::make_shared<PacketTap>();
  share->tap = std::make_shared<Tap>();
  share->tap->bridge = bridge;
  napi_create_reference(env, callback, 1, &share->tap->callback);
  share->caps = std::move(caps);
  share->capture_ns = std::move(capture_ns);
  connect_owning(element, "pad-added", G_CALLBACK(on_packet_pad), new PacketShare(share));
}

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
    if (Ref<GstCaps> caps{gst_pad_get_current_caps(pad)}) task->caps = text_of(caps.get());
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
    // Encoded on the streaming thread: the control thread may be waiting for this frame.
    Ref<GstCaps> caps(gst_pad_get_current_caps(pad));
    std::string error;
    auto image = std::make_shared<PictureBytes>(encode_picture(buffer, caps.get(), type, &error));
    bridge->run([deferred, image, error, pts](Napi::Env env) {
      if (!error.empty()) {
        deferred->Reject(Napi::Error::New(env, error).Value());
        return;
      }
      auto out = Napi::Object::New(env);
      out.Set("image", to_uint8_array(env, *image));
      out.Set("ptsNs", to_bigint(env, pts));
      deferred->Resolve(out);
    });
    return false;
  });
  return deferred->Promise();
}

namespace {
constexpr char kRaw[] = "video/x-raw";

// The node itself, or the bin of a branch that it is in.
bool leads_to(GstElement* found, GstElement* to) {
  return found == to || (GST_IS_BIN(found) && gst_object_has_as_ancestor(GST_OBJECT(to), GST_OBJECT(found)));
}
// The output of `from` that is linked to `to`; none: they are not linked.
Ref<GstPad> edge_pad(GstElement* from, GstElement* to) {
  std::vector<Ref<GstPad>> pads;
  GST_OBJECT_LOCK(from);
  for (GList* at = from->srcpads; at != nullptr; at = at->next) pads.push_back(new_ref(GST_PAD(at->data)));
  GST_OBJECT_UNLOCK(from);
  for (auto& pad : pads) {
    Ref<GstPad> peer(gst_pad_get_peer(pad.get()));
    Ref<GstElement> owner(peer ? gst_pad_get_parent_element(peer.get()) : nullptr);
    if (owner && leads_to(owner.get(), to)) return std::move(pad);
  }
  return nullptr;
}

// A buffer that was seen on an edge. Holding it costs downstream a copy where it writes, as of any shared buffer.
struct Seen {
  std::shared_ptr<Tap> tap;
  Ref<GstBuffer> buffer;
  Ref<GstCaps> caps;
  MetadataBox* box = nullptr;
  double most_pixels = 0;
  ~Seen() {
    if (box != nullptr) box->unref();
  }
};

// Encodes on a thread of libuv: neither the stream nor the JS thread waits for it. Deletes itself.
class SeenWorker : public Napi::AsyncWorker {
 public:
  SeenWorker(Napi::Env env, std::shared_ptr<Seen> seen) : Napi::AsyncWorker(env), seen_(std::move(seen)) {}

  void Execute() override {
    GstVideoInfo info;
    const GstStructure* structure = seen_->caps ? gst_caps_get_structure(seen_->caps.get(), 0) : nullptr;
    if (structure == nullptr || !gst_structure_has_name(structure, kRaw)) return;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, seen_->caps.get()) ||
        !gst_video_frame_map(&frame, &info, seen_->buffer.get(), GST_MAP_READ)) {
      error_ = "the pixels of this frame are not in memory";
      return;
    }
    PictureCut cut;
    cut.most_pixels = seen_->most_pixels;
    image_ = encode_cut(frame, cut, "image/jpeg", &error_);
    gst_video_frame_unmap(&frame);
  }

  void OnOK() override {
    auto env = Env();
    auto& tap = seen_->tap;
    napi_value function = nullptr;
    napi_get_reference_value(env, tap->callback, &function);
    if (function == nullptr) return;
    GstBuffer* buffer = seen_->buffer.get();
    auto out = Napi::Object::New(env);
    out.Set("ptsNs", to_bigint(env, GST_BUFFER_PTS(buffer)));
    out.Set("durationNs", to_bigint(env, GST_BUFFER_DURATION(buffer)));
    out.Set("bytes", static_cast<double>(gst_buffer_get_size(buffer)));
    out.Set("keyframe", !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT));
    out.Set("discontinuity", static_cast<bool>(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT)));
    out.Set("caps", seen_->caps ? text_of(seen_->caps.get()) : std::string());
    out.Set("lost", 0);
    napi_value meta;
    if (seen_->box != nullptr && seen_->box->bridge == tap->bridge)
      napi_get_reference_value(env, seen_->box->reference, &meta);
    else meta = Napi::Object::New(env);
    out.Set("meta", Napi::Value(env, meta));
    out.Set("image", image_.empty() ? env.Null() : Napi::Value(to_uint8_array(env, image_)));
    out.Set("error", error_.empty() ? env.Null() : Napi::Value(Napi::String::New(env, error_)));
    Napi::Function(env, function).Call({out});
  }

 private:
  std::shared_ptr<Seen> seen_;
  PictureBytes image_;
  std::string error_;
};
}  // namespace

Napi::Value see_edge(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* from, GstElement* to, double most_pixels,
                     Napi::Function callback) {
  auto pad = edge_pad(from, to);
  if (!pad) throw Napi::Error::New(env, "these nodes are not linked");
  auto tap = std::make_shared<Tap>();
  tap->bridge = bridge;
  napi_create_reference(env, callback, 1, &tap->callback);
  add_probe(pad.get(), [tap, most_pixels](GstPad* pad, GstPadProbeInfo* info) {
    if (!tap->on.exchange(false)) return GST_PAD_PROBE_REMOVE;
    auto seen = std::make_shared<Seen>();
    seen->tap = tap;
    seen->buffer.reset(gst_buffer_ref(GST_PAD_PROBE_INFO_BUFFER(info)));
    seen->caps.reset(gst_pad_get_current_caps(pad));
    seen->most_pixels = most_pixels;
    MetadataBox* box = metadata_of(seen->buffer.get());
    seen->box = box == nullptr ? nullptr : box->ref();
    tap->bridge->run([seen](Napi::Env env) { (new SeenWorker(env, seen))->Queue(); });
    return GST_PAD_PROBE_REMOVE;
  });
  return Napi::Function::New(env, [tap](const Napi::CallbackInfo&) { tap->on = false; });
}

namespace {
bool is_queue(GstElement* element) {
  GObjectClass* klass = G_OBJECT_GET_CLASS(element);
  return g_object_class_find_property(klass, "current-level-buffers") != nullptr &&
         g_object_class_find_property(klass, "max-size-buffers") != nullptr;
}
// Buffers in the queue that the pad belongs to; -1: it is not of a queue.
int level_at(GstPad* pad) {
  Ref<GstElement> element(gst_pad_get_parent_element(pad));
  if (!element || !is_queue(element.get())) return -1;
  guint queued = 0;
  g_object_get(element.get(), "current-level-buffers", &queued, nullptr);
  return static_cast<int>(queued);
}
}  // namespace

std::shared_ptr<Meter> Meter::create(GstElement* first, GstElement* last) {
  auto meter = std::make_shared<Meter>();
  std::weak_ptr<Meter> weak = meter;
  auto count = [weak](void (Meter::*note)(GstPad*, GstClockTime)) {
    return [weak, note](GstPad* pad, GstPadProbeInfo* info) {
      auto meter = weak.lock();
      if (!meter) return GST_PAD_PROBE_REMOVE;
      (meter.get()->*note)(pad, GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
      return GST_PAD_PROBE_OK;
    };
  };
  auto entry = first_pad(first, GST_PAD_SINK);
  meter->has_input_ = entry != nullptr;
  meter->has_output_ = has_output(last);
  if (entry) add_probe(entry.get(), count(&Meter::entered));
  if (meter->has_output_) on_frames(last, count(&Meter::left));
  if (auto exit = is_queue(first) ? first_pad(last, GST_PAD_SRC) : nullptr) {
    auto follow = [weak](GstPad*, GstPadProbeInfo* info) {
      auto meter = weak.lock();
      if (!meter) return GST_PAD_PROBE_REMOVE;
      const GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info));
      if (type == GST_EVENT_EOS) meter->ended_ = true;
      if (type == GST_EVENT_SEGMENT) meter->ended_ = false;
      return GST_PAD_PROBE_OK;
    };
    add_probe(exit.get(), follow, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM);
  }
  return meter;
}
void Meter::entered(GstPad*, GstClockTime pts) {
  in_++;
  const guint64 now = now_ns();
  if (!has_output_) durations_.mark({pts, now, now, -1});
  std::lock_guard<std::mutex> lock(mutex_);
  ring_[next_++ % kRing] = {pts, now};
}
void Meter::left(GstPad* pad, GstClockTime pts) {
  size_t nth = out_++;
  guint64 since = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t back = 1; back <= kRing && back <= next_ && since == 0; back++) {
      const Entry& entry = ring_[(next_ - back) % kRing];
      if (entry.pts == pts) since = entry.at_ns;
    }
    // Encoders may shift all times: then the nth buffer that leaves is the nth that entered.
    if (since == 0 && nth < next_ && next_ - nth <= kRing) since = ring_[nth % kRing].at_ns;
  }
  const guint64 now = now_ns();
  if (since != 0) durations_.add({pts, since, now, durations_.keeps_spans() ? level_at(pad) : -1});
  else if (!has_input_) durations_.mark({pts, now, now, -1});
}
Napi::Object Meter::take_spans(Napi::Env env, GstElement* first, bool more) {
  uint64_t lost = 0;
  auto core = ts_element_core(first);
  const auto taken = (core ? core->durations : durations_).take_spans(more, &lost);
  auto numbers = Napi::Float64Array::New(env, taken.size() * 4);
  for (size_t i = 0; i < taken.size(); i++) {
    const Span& span = taken[i];
    numbers[i * 4] = GST_CLOCK_TIME_IS_VALID(span.pts) ? static_cast<double>(span.pts) : std::numeric_limits<double>::quiet_NaN();
    numbers[i * 4 + 1] = static_cast<double>(span.from_ns);
    numbers[i * 4 + 2] = static_cast<double>(span.to_ns);
    numbers[i * 4 + 3] = span.queued;
  }
  auto out = Napi::Object::New(env);
  out.Set("spans", numbers);
  out.Set("lost", static_cast<double>(lost));
  return out;
}
Napi::Object Meter::read(Napi::Env env, GstElement* first) const {
  auto entry = Napi::Object::New(env);
  uint64_t in = in_, left = out_;
  auto core = ts_element_core(first);
  auto times = core ? core->durations.summary() : durations_.summary();
  entry.Set("in", static_cast<double>(in));
  entry.Set("out", static_cast<double>(left));
  entry.Set("meanMs", times.mean_ms);
  entry.Set("p50Ms", times.p50_ms);
  entry.Set("p95Ms", times.p95_ms);
  uint64_t dropped = core ? core->dropped.load() : 0;
  if (is_queue(first)) {
    guint queued = 0, capacity = 0;
    g_object_get(first, "current-level-buffers", &queued, "max-size-buffers", &capacity, nullptr);
    entry.Set("queued", queued);
    entry.Set("capacity", capacity);
    // Read at different moments: a frame between the two probes is not a drop. There is none when the stream has ended.
    const uint64_t between = ended_ ? 0 : 1;
    dropped = in > left + queued + between ? in - left - queued : 0;
  }
  entry.Set("dropped", static_cast<double>(dropped));
  return entry;
}
