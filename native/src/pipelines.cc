// class Pipeline: JavaScript's handle of a PipelineCore. All operations that may block run on the pipeline's control thread
// and return promises.
#include "addon.h"
#include "pipeline_core.h"
#include "probes.h"
#include "relay.h"
#include "ts_element.h"

namespace {
using std::chrono::milliseconds;

// The result of an operation: an error, or a value to be created on the JS thread (undefined without one).
struct Outcome {
  std::string error;
  std::function<Napi::Value(Napi::Env)> value;
};
Outcome from_error(std::string error) { return {std::move(error), nullptr}; }
Outcome from_text(std::string text) {
  return {{}, [text = std::move(text)](Napi::Env env) { return Napi::String::New(env, text); }};
}
void settle(Napi::Env env, Napi::Promise::Deferred deferred, const Outcome& outcome) {
  if (!outcome.error.empty()) deferred.Reject(Napi::Error::New(env, outcome.error).Value());
  else deferred.Resolve(outcome.value ? outcome.value(env) : env.Undefined());
}

std::string to_text(Napi::Value value) { return value.As<Napi::String>().Utf8Value(); }
uint64_t to_ns(Napi::Value value) {
  bool lossless;
  return value.As<Napi::BigInt>().Uint64Value(&lossless);
}
milliseconds to_ms(Napi::Value value) { return milliseconds(value.As<Napi::Number>().Int64Value()); }

NodeSpec node_spec(Napi::Object from) {
  NodeSpec node;
  node.name = from.Get("name").ToString().Utf8Value();
  node.factory = from.Get("factory").ToString().Utf8Value();
  if (from.Get("binding").IsNumber()) node.binding = from.Get("binding").ToNumber();
  node.properties = property_values(from.Get("properties"));
  return node;
}
LinkSpec link_spec(Napi::Object from) {
  auto text = [&](const char* key) { return from.Get(key).IsString() ? from.Get(key).ToString().Utf8Value() : std::string(); };
  return {text("from"), text("fromPad"), text("to"), text("toPad"), text("caps")};
}
SegmentSpec segment_spec(Napi::Object from) {
  SegmentSpec spec;
  auto nodes = from.Get("nodes").As<Napi::Array>();
  for (uint32_t i = 0; i < nodes.Length(); i++) spec.nodes.push_back(node_spec(nodes.Get(i).As<Napi::Object>()));
  auto links = from.Get("links").As<Napi::Array>();
  for (uint32_t i = 0; i < links.Length(); i++) spec.links.push_back(link_spec(links.Get(i).As<Napi::Object>()));
  return spec;
}
// Unix time of capture of a packet whose pad is not linked. Frames have theirs by PTS, which start at another time than
// those of other streams of a file (edit lists): the segment of a linked pad of the element converts between them.
uint64_t capture_beside(Timeline& timeline, GstElement* element, GstBuffer* buffer, const GstSegment* segment) {
  if (!GST_BUFFER_PTS_IS_VALID(buffer)) return 0;
  guint64 distance = 0;
  int sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer), &distance);
  if (sign == 0) return 0;
  gint64 running = sign * static_cast<gint64>(distance), pts = running;
  GST_OBJECT_LOCK(element);
  for (GList* at = element->srcpads; at != nullptr; at = at->next) {
    auto* pad = GST_PAD(at->data);
    GstEvent* event = GST_PAD_PEER(pad) == nullptr ? nullptr : gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    if (event == nullptr) continue;
    const GstSegment* frames = nullptr;
    gst_event_parse_segment(event, &frames);
    if (frames->format == GST_FORMAT_TIME && frames->start + frames->offset >= frames->base) {
      timeline.set_start(frames->start + frames->offset - frames->base);
      pts = running + static_cast<gint64>(timeline.start());
    }
    gst_event_unref(event);
    break;
  }
  GST_OBJECT_UNLOCK(element);
  // From before the first frame.
  if (pts < 0 || running < 0) return 0;
  return timeline.capture_ns(static_cast<GstClockTime>(pts), static_cast<GstClockTime>(running), 0);
}

GstState state_of(Napi::Env env, const std::string& name) {
  if (name == "PLAYING") return GST_STATE_PLAYING;
  if (name == "PAUSED") return GST_STATE_PAUSED;
  if (name == "READY") return GST_STATE_READY;
  if (name == "NULL") return GST_STATE_NULL;
  throw Napi::TypeError::New(env, "expected state NULL, READY, PAUSED or PLAYING, got \"" + name + "\"");
}
}  // namespace

class Pipeline : public Napi::ObjectWrap<Pipeline> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Pipeline",
                       {InstanceMethod("build", &Pipeline::build), InstanceMethod("setState", &Pipeline::set_state),
                        InstanceMethod("close", &Pipeline::close), InstanceMethod("set", &Pipeline::set),
                        InstanceMethod("get", &Pipeline::get), InstanceMethod("seek", &Pipeline::seek),
                        InstanceMethod("position", &Pipeline::position), InstanceMethod("duration", &Pipeline::duration),
                        InstanceMethod("latency", &Pipeline::latency), InstanceMethod("endOfStream", &Pipeline::end_of_stream),
                        InstanceMethod("dot", &Pipeline::dot), InstanceMethod("addBranch", &Pipeline::add_branch),
                        InstanceMethod("removeBranch", &Pipeline::remove_branch), InstanceMethod("limit", &Pipeline::limit),
                        InstanceMethod("tap", &Pipeline::tap), InstanceMethod("grab", &Pipeline::grab),
                        InstanceMethod("seeEdge", &Pipeline::see_edge),
                        InstanceMethod("meter", &Pipeline::meter), InstanceMethod("meters", &Pipeline::meters),
                        InstanceMethod("takeSpans", &Pipeline::take_spans),
                        InstanceMethod("setLatency", &Pipeline::set_latency),
                        InstanceMethod("relayFrom", &Pipeline::relay_from), InstanceMethod("relayMetadata", &Pipeline::relay_metadata), InstanceMethod("tapPackets", &Pipeline::tap_packets_of), InstanceMethod("relayStatus", &Pipeline::relay_status),
                        InstanceMethod("relayEnd", &Pipeline::relay_end)});
  }

  // new Pipeline(name, epochNs | null, onMessage)
  explicit Pipeline(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Pipeline>(info) {
    uint64_t epoch = info[1].IsNull() ? Timeline::kOnArrival : to_ns(info[1]);
    core_ = PipelineCore::create(Bridge::of(info.Env()), to_text(info[0]), epoch);
    napi_create_reference(info.Env(), info[2], 1, &core_->on_message);
  }
  // Collected without close(): the control thread shuts it down.
  ~Pipeline() override { core_->shut_down(); }

 private:
  std::shared_ptr<PipelineCore> core_;
  bool held_ = false;
  struct Metered {
    std::string first;  // node
    std::shared_ptr<Meter> meter;
  };
  std::map<std::string, Metered> meters_;

  Napi::Value operate(Napi::Env env, std::function<Outcome(PipelineCore&)> work) {
    auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
    auto bridge = core_->bridge;
    bridge->hold();
    core_->run([core = core_, bridge, deferred, work = std::move(work)] {
      auto outcome = std::make_shared<Outcome>(core->closing() ? from_error("the pipeline is closed") : work(*core));
      bridge->run([bridge, deferred, outcome](Napi::Env env) {
        bridge->release();
        settle(env, *deferred, *outcome);
      });
    });
    return deferred->Promise();
  }
  // Throws when there is no such node.
  ::Ref<GstElement> node(Napi::Env env, Napi::Value name) {
    auto element = core_->find(to_text(name));
    if (!element) throw Napi::Error::New(env, missing(to_text(name)));
    return element;
  }
  static std::string missing(const std::string& node) { return "no node \"" + node + "\" in the running pipeline"; }

  // build(segment) -> Promise
  Napi::Value build(const Napi::CallbackInfo& info) {
    auto spec = std::make_shared<SegmentSpec>(segment_spec(info[0].As<Napi::Object>()));
    return operate(info.Env(), [spec](PipelineCore& core) { return from_error(core.build(*spec, GST_BIN(core.pipeline))); });
  }
  // setState(name, limitMs, stopIfLive) -> Promise<is it live>
  Napi::Value set_state(const Napi::CallbackInfo& info) {
    GstState state = state_of(info.Env(), info[0].As<Napi::String>());
    hold(state >= GST_STATE_PAUSED);
    auto limit = to_ms(info[1]);
    bool stop_if_live = info[2].ToBoolean();
    return operate(info.Env(), [state, limit, stop_if_live](PipelineCore& core) {
      std::string error = core.set_state(state, limit, stop_if_live);
      bool live = core.is_live();
      return Outcome{error, [live](Napi::Env env) -> Napi::Value { return Napi::Boolean::New(env, live); }};
    });
  }
  // A running pipeline keeps the process alive, and itself.
  void hold(bool on) {
    if (on == held_ || core_->closing()) return;
    held_ = on;
    if (on) Ref(), core_->bridge->hold();
    else Unref(), core_->bridge->release();
  }
  // close() -> Promise, resolved when the pipeline is at NULL and its thread has ended
  Napi::Value close(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
    if (core_->closing()) {
      deferred->Resolve(env.Undefined());
      return deferred->Promise();
    }
    hold(false);
    meters_.clear();
    auto bridge = core_->bridge;
    bridge->hold();
    core_->on_closed = [bridge, deferred] {
      bridge->run([bridge, deferred](Napi::Env env) {
        bridge->release();
        deferred->Resolve(env.Undefined());
      });
    };
    core_->shut_down();
    return deferred->Promise();
  }

  // set(node, properties) -> Promise. Immediate for TypeScript elements, so that several properties arrive as one update; on
  // the control thread for others, whose setters may wait for a streaming thread.
  Napi::Value set(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    std::shared_ptr<GstElement> element = core_->find(to_text(info[0]));
    auto apply = [element, name = to_text(info[0]), properties = property_values(info[1])] {
      if (!element) return from_error(missing(name));
      for (const auto& [property, value] : properties) {
        std::string error = ::set_property(G_OBJECT(element.get()), property, value);
        if (!error.empty()) return from_error(name + " " + error);
      }
      return Outcome{};
    };
    if (element && !ts_element_core(element.get())) return operate(env, [apply](PipelineCore&) { return apply(); });
    auto deferred = Napi::Promise::Deferred::New(env);
    settle(env, deferred, apply());
    return deferred.Promise();
  }
  // get(node, property) -> Promise<string>
  Napi::Value get(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [name = to_text(info[0]), property = to_text(info[1])](PipelineCore& core) {
      auto element = core.find(name);
      if (!element) return from_error(missing(name));
      std::string error, text = get_property_text(G_OBJECT(element.get()), property, &error);
      return error.empty() ? from_text(text) : from_error(name + " " + error);
    });
  }

  // seek(ns, accurate = true, node | undefined) -> Promise; at a node, as nothing downstream of it may be linked yet
  Napi::Value seek(const Napi::CallbackInfo& info) {
    auto to = static_cast<gint64>(to_ns(info[0]));
    bool accurate = info[1].IsUndefined() || info[1].ToBoolean();
    std::string node = info[2].IsString() ? to_text(info[2]) : "";
    return operate(info.Env(), [to, accurate, node](PipelineCore& core) {
      auto flags = static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | (accurate ? GST_SEEK_FLAG_ACCURATE : GST_SEEK_FLAG_KEY_UNIT));
      auto at = node.empty() ? new_ref(core.pipeline) : core.find(node);
      if (!at) return from_error(missing(node));
      return gst_element_seek_simple(at.get(), GST_FORMAT_TIME, flags, to) ? Outcome{} : from_error("this source cannot seek");
    });
  }
  // position(), duration() -> Promise<bigint | null>
  Napi::Value position(const Napi::CallbackInfo& info) { return query(info, gst_element_query_position, 0); }
  Napi::Value duration(const Napi::CallbackInfo& info) { return query(info, gst_element_query_duration, 1); }
  Napi::Value query(const Napi::CallbackInfo& info, gboolean (*ask)(GstElement*, GstFormat, gint64*), gint64 least) {
    return operate(info.Env(), [ask, least](PipelineCore& core) {
      gint64 value = 0;
      bool known = ask(core.pipeline, GST_FORMAT_TIME, &value) && value >= least;
      return Outcome{{}, [=](Napi::Env env) { return to_bigint(env, known ? static_cast<uint64_t>(value) : GST_CLOCK_TIME_NONE); }};
    });
  }
  // latency() -> Promise<{live, minimumNs, maximumNs | null} | null>
  Napi::Value latency(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      GstQuery* query = gst_query_new_latency();
      gboolean live = FALSE;
      GstClockTime minimum = 0, maximum = 0;
      bool known = gst_element_query(core.pipeline, query);
      if (known) gst_query_parse_latency(query, &live, &minimum, &maximum);
      gst_query_unref(query);
      return Outcome{{}, [=](Napi::Env env) -> Napi::Value {
                       if (!known) return env.Null();
                       auto out = Napi::Object::New(env);
                       out.Set("live", Napi::Boolean::New(env, live));
                       out.Set("minimumNs", to_bigint(env, minimum));
                       out.Set("maximumNs", to_bigint(env, maximum));
                       return out;
                     }};
    });
  }
  // setLatency(node, ns): latency that a TypeScript element adds
  void set_latency(const Napi::CallbackInfo& info) {
    auto element = node(info.Env(), info[0]);
    if (auto core = ts_element_core(element.get())) {
      core->latency_ns = to_ns(info[1]);
      gst_element_post_message(element.get(), gst_message_new_latency(GST_OBJECT(element.get())));
    }
  }
  // endOfStream() -> Promise: ends all sources; frames in the pipeline still arrive
  Napi::Value end_of_stream(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      return gst_element_send_event(core.pipeline, gst_event_new_eos()) ? Outcome{} : from_error("no source accepted the end of stream");
    });
  }
  // dot() -> Promise<string>
  Napi::Value dot(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      constexpr auto details = static_cast<GstDebugGraphDetails>(
          GST_DEBUG_GRAPH_SHOW_CAPS_DETAILS | GST_DEBUG_GRAPH_SHOW_NON_DEFAULT_PARAMS | GST_DEBUG_GRAPH_SHOW_STATES);
      return from_text(take_text(gst_debug_bin_to_dot_data(GST_BIN(core.pipeline), details)));
    });
  }

  // addBranch(name, link, segment) -> Promise; removeBranch(name, limitMs = 5000) -> Promise
  Napi::Value add_branch(const Napi::CallbackInfo& info) {
    auto name = to_text(info[0]);
    auto entry = link_spec(info[1].As<Napi::Object>());
    auto spec = std::make_shared<SegmentSpec>(segment_spec(info[2].As<Napi::Object>()));
    return operate(info.Env(), [=](PipelineCore& core) { return from_error(core.add_branch(name, entry, *spec)); });
  }
  Napi::Value remove_branch(const Napi::CallbackInfo& info) {
    auto name = to_text(info[0]);
    auto limit = info[1].IsUndefined() ? milliseconds(5000) : to_ms(info[1]);
    return operate(info.Env(), [=](PipelineCore& core) { return from_error(core.remove_branch(name, limit)); });
  }

  // limit(node, {frames?, untilNs?})
  void limit(const Napi::CallbackInfo& info) {
    auto limits = info[1].As<Napi::Object>();
    auto frames = limits.Get("frames"), until = limits.Get("untilNs");
    std::string error = limit_stream(node(info.Env(), info[0]).get(),
                                     frames.IsNumber() ? static_cast<uint64_t>(frames.ToNumber().Int64Value()) : 0,
                                     until.IsBigInt() ? to_ns(until) : 0);
    if (!error.empty()) throw Napi::Error::New(info.Env(), error);
  }
  // tap(node, callback) -> stop()
  Napi::Value tap(const Napi::CallbackInfo& info) {
    return tap_node(info.Env(), core_->bridge, node(info.Env(), info[0]).get(), info[1].As<Napi::Function>());
  }
  // grab(node, atNs, type) -> Promise<{image, ptsNs}>
  Napi::Value grab(const Napi::CallbackInfo& info) {
    return grab_frame(info.Env(), core_->bridge, node(info.Env(), info[0]).get(), to_ns(info[1]), to_text(info[2]));
  }

  // seeEdge(from, to, mostPixels, callback) -> stop()
  Napi::Value see_edge(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    auto from = node(env, info[0]), to = node(env, info[1]);
    return ::see_edge(env, core_->bridge, from.get(), to.get(), info[2].ToNumber().DoubleValue(), info[3].As<Napi::Function>());
  }

  // meter(name, firstNode, lastNode)
  void meter(const Napi::CallbackInfo& info) {
    auto first = node(info.Env(), info[1]), last = node(info.Env(), info[2]);
    meters_[to_text(info[0])] = {to_text(info[1]), Meter::create(first.get(), last.get())};
  }
  // meters(names) -> {[name]: reading}; also forgets the meters of removed branches
  Napi::Value meters(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    auto out = Napi::Object::New(env), wanted = Napi::Object::New(env);
    auto names = info[0].As<Napi::Array>();
    for (uint32_t i = 0; i < names.Length(); i++) wanted.Set(names.Get(i), true);
    for (auto it = meters_.begin(); it != meters_.end();) {
      auto& [name, metered] = *it;
      auto element = core_->find(metered.first);
      if (element && wanted.HasOwnProperty(name)) out.Set(name, metered.meter->read(env, element.get()));
      it = element ? std::next(it) : meters_.erase(it);
    }
    return out;
  }

  // takeSpans(names, more) -> {[name]: {spans, lost}}
  Napi::Value take_spans(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    auto out = Napi::Object::New(env);
    auto names = info[0].As<Napi::Array>();
    for (uint32_t i = 0; i < names.Length(); i++) {
      auto name = names.Get(i);
      auto found = meters_.find(to_text(name));
      auto element = found == meters_.end() ? ::Ref<GstElement>() : core_->find(found->second.first);
      if (element) out.Set(name, found->second.meter->take_spans(env, element.get(), info[1].ToBoolean()));
    }
    return out;
  }

  // relayFrom(appsrc, ingestPipeline, appsink): feeds our appsrc with the data of the ingest
  void relay_from(const Napi::CallbackInfo& info) {
    auto relay = relay_into(info);
    auto* ingest = Napi::ObjectWrap<Pipeline>::Unwrap(info[1].As<Napi::Object>());
    if (!relay->attach(ingest->node(info.Env(), info[2]).get())) throw Napi::Error::New(info.Env(), "an ingest must end in an appsink");
  }
  // relayMetadata(appsrc, ingestPipeline, node, caps, callback)
  void relay_metadata(const Napi::CallbackInfo& info) {
    auto relay = relay_into(info);
    auto* ingest = Napi::ObjectWrap<Pipeline>::Unwrap(info[1].As<Napi::Object>());
    ::Ref<GstCaps> caps(gst_caps_from_string(to_text(info[3]).c_str()));
    if (!caps) throw Napi::Error::New(info.Env(), "\"" + to_text(info[3]) + "\" are not valid caps");
    std::weak_ptr<Relay> weak = relay;
    auto capture_ns = [weak](GstBuffer* buffer, const GstSegment* segment) -> uint64_t {
      auto relay = weak.lock();
      return relay ? relay->capture_ns(buffer, segment) : 0;
    };
    tap_packets(core_->bridge, info.Env(), ingest->node(info.Env(), info[2]).get(), std::move(caps), std::move(capture_ns),
                info[4].As<Napi::Function>());
  }
  // tapPackets(node, caps, callback)
  void tap_packets_of(const Napi::CallbackInfo& info) {
    ::Ref<GstCaps> caps(gst_caps_from_string(to_text(info[1]).c_str()));
    if (!caps) throw Napi::Error::New(info.Env(), "\"" + to_text(info[1]) + "\" are not valid caps");
    auto element = node(info.Env(), info[0]);
    // Called only while the element pushes data.
    auto capture_ns = [timeline = core_->timeline, raw = element.get()](GstBuffer* buffer, const GstSegment* segment) -> uint64_t {
      return capture_beside(*timeline, raw, buffer, segment);
    };
    tap_packets(core_->bridge, info.Env(), element.get(), std::move(caps), std::move(capture_ns), info[2].As<Napi::Function>());
  }
  // relayStatus(appsrc) -> {frames, dropped, idleMs, flowing}
  Napi::Value relay_status(const Napi::CallbackInfo& info) {
    auto status = relay_into(info)->status();
    auto out = Napi::Object::New(info.Env());
    out.Set("frames", static_cast<double>(status.frames));
    out.Set("dropped", static_cast<double>(status.dropped));
    out.Set("idleMs", static_cast<double>(status.idle_ms));
    out.Set("flowing", status.flowing);
    return out;
  }
  // relayEnd(appsrc)
  void relay_end(const Napi::CallbackInfo& info) {
    std::string error;
    if (auto relay = core_->relay_into(to_text(info[0]), &error)) relay->end_of_stream();
  }
  // Throws when info[0] does not name an appsrc.
  std::shared_ptr<Relay> relay_into(const Napi::CallbackInfo& info) {
    std::string error;
    auto relay = core_->relay_into(to_text(info[0]), &error);
    if (!relay) throw Napi::Error::New(info.Env(), error);
    return relay;
  }
};

void export_pipelines(Napi::Env env, Napi::Object exports) {
  exports.Set("Pipeline", Pipeline::define(env));
  exports.Set("deinit", Napi::Function::New(env, [](const Napi::CallbackInfo&) { gst_deinit(); }));
}
