// class Pipeline: JavaScript's handle of a PipelineCore. Everything that may block is a promise, run on the pipeline's
// control thread.
#include <set>

#include "addon.h"
#include "observe.h"
#include "pipeline_core.h"
#include "relay.h"
#include "ts_element.h"

namespace {
using std::chrono::milliseconds;

struct Unref {
  void operator()(GstElement* element) const { gst_object_unref(element); }
};
using OwnedElement = std::unique_ptr<GstElement, Unref>;

// What an operation came to: text of an error, or a value to be made on the JS thread.
struct Outcome {
  std::string error;
  std::function<Napi::Value(Napi::Env)> value;
};
Outcome failed(std::string why) { return {std::move(why), nullptr}; }
Outcome from_error(std::string error) { return {std::move(error), nullptr}; }

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
GstState state_of(Napi::Env env, const std::string& name) {
  if (name == "PLAYING") return GST_STATE_PLAYING;
  if (name == "PAUSED") return GST_STATE_PAUSED;
  if (name == "READY") return GST_STATE_READY;
  if (name == "NULL") return GST_STATE_NULL;
  throw Napi::TypeError::New(env, "a state is NULL, READY, PAUSED or PLAYING, not \"" + name + "\"");
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
                        InstanceMethod("meter", &Pipeline::meter), InstanceMethod("meters", &Pipeline::meters),
                        InstanceMethod("setLatency", &Pipeline::set_latency),
                        InstanceMethod("relayFrom", &Pipeline::relay_from), InstanceMethod("relayStatus", &Pipeline::relay_status),
                        InstanceMethod("relayEnd", &Pipeline::relay_end)});
  }

  // new Pipeline(name, epochNs | null, onMessage)
  explicit Pipeline(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Pipeline>(info) {
    bool lossless;
    uint64_t epoch = info[1].IsNull() ? Timeline::kOnArrival : info[1].As<Napi::BigInt>().Uint64Value(&lossless);
    core_ = PipelineCore::create(Bridge::of(info.Env()), info[0].As<Napi::String>().Utf8Value(), epoch);
    napi_create_reference(info.Env(), info[2], 1, &core_->on_message);
  }
  // Forgotten without close(): the control thread takes it down by itself.
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
      auto outcome = std::make_shared<Outcome>(core->closing() ? failed("the pipeline is closed") : work(*core));
      bridge->post([bridge, deferred, outcome](Napi::Env env) {
        bridge->let_go();
        if (!outcome->error.empty()) deferred->Reject(Napi::Error::New(env, outcome->error).Value());
        else deferred->Resolve(outcome->value ? outcome->value(env) : env.Undefined());
      });
    });
    return deferred->Promise();
  }
  // Throws when there is no such node.
  OwnedElement node(Napi::Env env, Napi::Value name) {
    auto text = name.As<Napi::String>().Utf8Value();
    OwnedElement element(core_->find(text));
    if (!element) throw Napi::Error::New(env, "no node \"" + text + "\" in the running pipeline");
    return element;
  }
  static milliseconds limit_of(const Napi::CallbackInfo& info, size_t index) {
    return milliseconds(info[index].As<Napi::Number>().Int64Value());
  }

  // build(segment) -> Promise
  Napi::Value build(const Napi::CallbackInfo& info) {
    auto spec = std::make_shared<SegmentSpec>(segment_spec(info[0].As<Napi::Object>()));
    return operate(info.Env(), [spec](PipelineCore& core) { return from_error(core.build(*spec, GST_BIN(core.pipeline))); });
  }
  // setState(name, limitMs, stopIfLive) -> Promise<is it live>
  Napi::Value set_state(const Napi::CallbackInfo& info) {
    GstState state = state_of(info.Env(), info[0].As<Napi::String>());
    hold(state >= GST_STATE_PAUSED);
    auto limit = limit_of(info, 1);
    bool stop_if_live = info[2].ToBoolean();
    return operate(info.Env(), [state, limit, stop_if_live](PipelineCore& core) {
      std::string error = core.set_state(state, limit, stop_if_live);
      bool live = core.is_live();
      return Outcome{error, [live](Napi::Env env) -> Napi::Value { return Napi::Boolean::New(env, live); }};
    });
  }
  // A pipeline that runs keeps the process alive, and itself.
  void hold(bool on) {
    if (on == held_ || core_->closing()) return;
    held_ = on;
    if (on) Ref(), core_->bridge->hold();
    else Unref(), core_->bridge->let_go();
  }
  // close() -> Promise, resolved when the pipeline is at NULL and its thread gone
  Napi::Value close(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
    auto promise = deferred->Promise();
    if (core_->closing()) {
      deferred->Resolve(env.Undefined());
      return promise;
    }
    hold(false);
    meters_.clear();
    auto bridge = core_->bridge;
    bridge->hold();
    core_->on_closed = [bridge, deferred] {
      bridge->post([bridge, deferred](Napi::Env env) {
        bridge->let_go();
        deferred->Resolve(env.Undefined());
      });
    };
    core_->shut_down();
    return promise;
  }

  // set(node, properties): TypeScript elements at once, so that several properties arrive as one update; others on the
  // control thread, as a setter may wait for a streaming thread.
  Napi::Value set(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    std::shared_ptr<GstElement> element = node(env, info[0]);
    auto properties = property_values(info[1]);
    auto apply = [element, properties] {
      std::string error;
      for (const auto& [name, value] : properties) {
        if (error.empty()) error = ::set_property(G_OBJECT(element.get()), name, value);
      }
      if (!error.empty()) error = std::string(GST_OBJECT_NAME(element.get())) + " " + error;
      return from_error(error);
    };
    if (!ts_element_core(element.get())) return operate(env, [apply](PipelineCore&) { return apply(); });
    Outcome outcome = apply();
    auto deferred = Napi::Promise::Deferred::New(env);
    if (outcome.error.empty()) deferred.Resolve(env.Undefined());
    else deferred.Reject(Napi::Error::New(env, outcome.error).Value());
    return deferred.Promise();
  }
  // get(node, property) -> Promise<string>
  Napi::Value get(const Napi::CallbackInfo& info) {
    auto name = info[0].As<Napi::String>().Utf8Value(), property = info[1].As<Napi::String>().Utf8Value();
    return operate(info.Env(), [name, property](PipelineCore& core) {
      GstElement* element = core.find(name);
      if (element == nullptr) return failed("no node \"" + name + "\"");
      std::string error, text = get_property_text(G_OBJECT(element), property, &error);
      gst_object_unref(element);
      if (!error.empty()) return failed(name + " " + error);
      return Outcome{{}, [text](Napi::Env env) { return Napi::String::New(env, text); }};
    });
  }

  // seek(ns, accurate, node | undefined) -> Promise; at a node: what is above it, since nothing below may be linked yet
  Napi::Value seek(const Napi::CallbackInfo& info) {
    bool lossless;
    gint64 to = info[0].As<Napi::BigInt>().Int64Value(&lossless);
    bool accurate = info[1].ToBoolean();
    std::string node = info[2].IsString() ? info[2].As<Napi::String>().Utf8Value() : "";
    return operate(info.Env(), [to, accurate, node](PipelineCore& core) {
      auto flags = static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | (accurate ? GST_SEEK_FLAG_ACCURATE : GST_SEEK_FLAG_KEY_UNIT));
      GstElement* at = node.empty() ? GST_ELEMENT(gst_object_ref(core.pipeline)) : core.find(node);
      if (at == nullptr) return failed("no node \"" + node + "\" to seek at");
      bool sought = gst_element_seek_simple(at, GST_FORMAT_TIME, flags, to);
      gst_object_unref(at);
      return sought ? Outcome{} : failed("this source cannot seek");
    });
  }
  static Outcome nanoseconds(bool known, gint64 value) {
    return {{}, [known, value](Napi::Env env) -> Napi::Value {
              return known ? Napi::Value(Napi::BigInt::New(env, static_cast<int64_t>(value))) : env.Null();
            }};
  }
  // position(), duration() -> Promise<bigint | null>
  Napi::Value position(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      gint64 value = 0;
      bool known = gst_element_query_position(core.pipeline, GST_FORMAT_TIME, &value);
      return nanoseconds(known, value);
    });
  }
  Napi::Value duration(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      gint64 value = 0;
      bool known = gst_element_query_duration(core.pipeline, GST_FORMAT_TIME, &value) && value > 0;
      return nanoseconds(known, value);
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
                       out.Set("minimumNs", Napi::BigInt::New(env, static_cast<uint64_t>(minimum)));
                       out.Set("maximumNs", GST_CLOCK_TIME_IS_VALID(maximum) ? Napi::Value(Napi::BigInt::New(env, static_cast<uint64_t>(maximum))) : env.Null());
                       return out;
                     }};
    });
  }
  // setLatency(node, ns): what a TypeScript element adds, told to the pipeline
  Napi::Value set_latency(const Napi::CallbackInfo& info) {
    OwnedElement element = node(info.Env(), info[0]);
    bool lossless;
    if (auto core = ts_element_core(element.get())) {
      core->latency_ns = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
      gst_element_post_message(element.get(), gst_message_new_latency(GST_OBJECT(element.get())));
    }
    return info.Env().Undefined();
  }
  // endOfStream() -> Promise: every source ends; what is under way still arrives
  Napi::Value end_of_stream(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      return gst_element_send_event(core.pipeline, gst_event_new_eos()) ? Outcome{} : failed("no source took the end of stream");
    });
  }
  // dot() -> Promise<string>
  Napi::Value dot(const Napi::CallbackInfo& info) {
    return operate(info.Env(), [](PipelineCore& core) {
      gchar* data = gst_debug_bin_to_dot_data(GST_BIN(core.pipeline), static_cast<GstDebugGraphDetails>(
                        GST_DEBUG_GRAPH_SHOW_CAPS_DETAILS | GST_DEBUG_GRAPH_SHOW_NON_DEFAULT_PARAMS | GST_DEBUG_GRAPH_SHOW_STATES));
      std::string text = data;
      g_free(data);
      return Outcome{{}, [text](Napi::Env env) { return Napi::String::New(env, text); }};
    });
  }

  // addBranch(name, link, segment) -> Promise; removeBranch(name, limitMs) -> Promise
  Napi::Value add_branch(const Napi::CallbackInfo& info) {
    auto name = info[0].As<Napi::String>().Utf8Value();
    auto entry = link_spec(info[1].As<Napi::Object>());
    auto spec = std::make_shared<SegmentSpec>(segment_spec(info[2].As<Napi::Object>()));
    return operate(info.Env(), [=](PipelineCore& core) { return from_error(core.add_branch(name, entry, *spec)); });
  }
  Napi::Value remove_branch(const Napi::CallbackInfo& info) {
    auto name = info[0].As<Napi::String>().Utf8Value();
    auto limit = limit_of(info, 1);
    return operate(info.Env(), [=](PipelineCore& core) { return from_error(core.remove_branch(name, limit)); });
  }

  // limit(node, frames, untilNs)
  Napi::Value limit(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    OwnedElement element = node(env, info[0]);
    bool lossless;
    std::string error = limit_stream(element.get(), static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value()), info[2].As<Napi::BigInt>().Uint64Value(&lossless));
    if (!error.empty()) throw Napi::Error::New(env, error);
    return env.Undefined();
  }

  // tap(node, callback) -> stop()
  Napi::Value tap(const Napi::CallbackInfo& info) {
    return tap_node(info.Env(), core_->bridge, node(info.Env(), info[0]).get(), info[1].As<Napi::Function>());
  }
  // grab(node, atNs, type) -> Promise<{image, ptsNs}>
  Napi::Value grab(const Napi::CallbackInfo& info) {
    bool lossless;
    GstClockTime at = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
    return grab_frame(info.Env(), core_->bridge, node(info.Env(), info[0]).get(), at, info[2].As<Napi::String>().Utf8Value());
  }

  // meter(name, firstNode, lastNode): from now on meters() tells of it
  Napi::Value meter(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    OwnedElement first = node(env, info[1]), last = node(env, info[2]);
    meters_[info[0].As<Napi::String>().Utf8Value()] = {info[1].As<Napi::String>().Utf8Value(), Meter::create(first.get(), last.get())};
    return env.Undefined();
  }
  // meters(names) -> {[name]: {in, out, meanMs, p95Ms, queued, capacity, dropped}}; those not asked for are left alone
  Napi::Value meters(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    auto out = Napi::Object::New(env);
    auto names = info[0].As<Napi::Array>();
    std::set<std::string> wanted;
    for (uint32_t i = 0; i < names.Length(); i++) wanted.insert(names.Get(i).As<Napi::String>().Utf8Value());
    for (auto it = meters_.begin(); it != meters_.end();) {
      OwnedElement owned(core_->find(it->second.first));
      GstElement* element = owned.get();
      if (element == nullptr) {  // its branch is gone
        it = meters_.erase(it);
        continue;
      }
      if (wanted.count(it->first) == 0) {
        ++it;
        continue;
      }
      out.Set(it->first, meter_reading(env, element, *it->second.meter));
      ++it;
    }
    return out;
  }

  // relayFrom(appsrc, ingestPipeline, appsink): from now on the ingest's data goes into our appsrc
  Napi::Value relay_from(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    std::string error;
    auto relay = core_->relay_into(info[0].As<Napi::String>().Utf8Value(), &error);
    if (!relay) throw Napi::Error::New(env, error);
    auto* ingest = Napi::ObjectWrap<Pipeline>::Unwrap(info[1].As<Napi::Object>());
    OwnedElement sink = ingest->node(env, info[2]);
    if (!relay->attach(sink.get())) throw Napi::Error::New(env, "an ingest must end in an appsink");
    return env.Undefined();
  }
  // relayStatus(appsrc) -> {frames, dropped, idleMs, flowing}
  Napi::Value relay_status(const Napi::CallbackInfo& info) {
    auto env = info.Env();
    std::string error;
    auto relay = core_->relay_into(info[0].As<Napi::String>().Utf8Value(), &error);
    if (!relay) throw Napi::Error::New(env, error);
    auto status = relay->status();
    auto out = Napi::Object::New(env);
    out.Set("frames", static_cast<double>(status.frames));
    out.Set("dropped", static_cast<double>(status.dropped));
    out.Set("idleMs", static_cast<double>(status.idle_ms));
    out.Set("flowing", status.flowing);
    return out;
  }
  Napi::Value relay_end(const Napi::CallbackInfo& info) {
    std::string error;
    if (auto relay = core_->relay_into(info[0].As<Napi::String>().Utf8Value(), &error)) relay->end_of_stream();
    return info.Env().Undefined();
  }
};

void export_pipelines(Napi::Env env, Napi::Object exports) {
  exports.Set("Pipeline", Pipeline::define(env));
  // For leak tests alone: GStreamer reports leaks when it ends, and cannot be used afterwards.
  exports.Set("deinit", Napi::Function::New(env, [](const Napi::CallbackInfo&) { gst_deinit(); }));
}
