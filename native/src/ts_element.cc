#include "ts_element.h"

#include <gst/base/gstbasesink.h>

#include <map>
#include <mutex>
#include <utility>

namespace {
// Both shells are the same: a core, and GStreamer's part of it.
struct Transform {
  GstElement base;
  std::shared_ptr<ElementCore>* core;
  GstPad *sink, *src;
};
struct TransformClass {
  GstElementClass base;
  const ElementSpec* spec;
};
struct Sink {
  GstBaseSink base;
  std::shared_ptr<ElementCore>* core;
};
struct SinkClass {
  GstBaseSinkClass base;
  const ElementSpec* spec;
};

std::mutex specs_mutex;
std::map<std::string, std::pair<const ElementSpec*, GType>>& specs() {
  static std::map<std::string, std::pair<const ElementSpec*, GType>> all;
  return all;
}

GQuark spec_quark() {
  static GQuark quark = g_quark_from_static_string("windhover-element-spec");
  return quark;
}
const ElementSpec* spec_of(gpointer object) {
  return static_cast<const ElementSpec*>(g_type_get_qdata(G_OBJECT_TYPE(object), spec_quark()));
}
std::shared_ptr<ElementCore>& core_of(gpointer object) {
  return spec_of(object)->sink ? *reinterpret_cast<Sink*>(object)->core : *reinterpret_cast<Transform*>(object)->core;
}
gpointer parent_class(gpointer object) { return g_type_class_peek_parent(G_OBJECT_GET_CLASS(object)); }

// ---------------------------------------------------------------------------------------- shared by both kinds

void post_error(gpointer object, const std::string& message, const std::string& stack) {
  GST_ELEMENT_ERROR(object, STREAM, FAILED, ("%s", message.c_str()), ("%s", stack.c_str()));
}
// The JavaScript error becomes the bus error: its text the message, its stack the debug part.
GstFlowReturn report(gpointer object, GstFlowReturn flow, const std::shared_ptr<Call>& call) {
  if (flow == GST_FLOW_ERROR) post_error(object, call ? call->error : "no JavaScript environment", call ? call->stack : "");
  return flow;
}

bool start(gpointer object) {
  auto& core = core_of(object);
  core->allow();
  core->format_due.clear();
  core->frames = 0;
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    core->started = true;
  }
  gchar* name = gst_object_get_name(GST_OBJECT(object));
  char binding[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr(binding, sizeof binding, core->binding);
  // Open at its end: the properties are added when JavaScript gets it.
  std::string payload = "{\"element\":" + json_string(core->spec->name.c_str()) + ",\"node\":" + json_string(name) +
                        ",\"binding\":" + binding + ",\"properties\":";
  g_free(name);
  std::shared_ptr<Call> call;
  bool started = report(object, core->call(CallKind::kStart, nullptr, payload, &call), call) == GST_FLOW_OK;
  std::lock_guard<std::mutex> lock(core->mutex);
  core->started = started;
  return started;
}
void stop(gpointer object) {
  auto& core = core_of(object);
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    core->started = false;
  }
  core->notify(CallKind::kStop);
}

// Tells the handler of a format it does not know yet. Streaming thread.
GstFlowReturn tell_format(gpointer object) {
  auto& core = core_of(object);
  if (core->format_due.empty()) return GST_FLOW_OK;
  std::shared_ptr<Call> call;
  GstFlowReturn flow = core->call(CallKind::kFormat, nullptr, core->format_due, &call);
  if (flow != GST_FLOW_FLUSHING) core->format_due.clear();
  return report(object, flow, call);
}
bool take_format(gpointer object, GstCaps* caps) {
  auto& core = core_of(object);
  // Of pictures and encoded video it only says that they are: their bytes are no planes.
  core->is_video = gst_video_info_from_caps(&core->video, caps) && GST_VIDEO_INFO_FORMAT(&core->video) != GST_VIDEO_FORMAT_ENCODED;
  core->format_due = format_json(caps, core->is_video ? &core->video : nullptr);
  return tell_format(object) != GST_FLOW_ERROR;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  auto& core = core_of(object);
  bool post;
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    g_value_copy(value, &core->values[id - 1]);
    // Several properties set one after the other reach the handler as one update.
    post = core->started && !core->properties_posted;
    if (post) core->properties_posted = true;
  }
  if (post) core->notify(CallKind::kProperties);
}
void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  auto& core = core_of(object);
  std::lock_guard<std::mutex> lock(core->mutex);
  g_value_copy(&core->values[id - 1], value);
}
void finalize(GObject* object) {
  auto* core = spec_of(object)->sink ? reinterpret_cast<Sink*>(object)->core : reinterpret_cast<Transform*>(object)->core;
  (*core)->cancel_for_good();
  auto* parent = G_OBJECT_CLASS(parent_class(object));
  delete core;
  parent->finalize(object);
}

GParamSpec* param_spec(const PropertySpec& p) {
  auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | (p.live ? GST_PARAM_MUTABLE_PLAYING : 0));
  const char *name = p.name.c_str(), *about = p.about.c_str();
  switch (p.kind) {
    case PropertyKind::kBoolean:
      return g_param_spec_boolean(name, name, about, p.number != 0, flags);
    case PropertyKind::kInteger:
      return g_param_spec_int64(name, name, about, static_cast<gint64>(p.minimum), static_cast<gint64>(p.maximum),
                                static_cast<gint64>(p.number), flags);
    case PropertyKind::kNumber:
      return g_param_spec_double(name, name, about, p.minimum, p.maximum, p.number, flags);
    case PropertyKind::kEnum:
      return g_param_spec_enum(name, name, about, p.enum_type, static_cast<gint>(p.number), flags);
    case PropertyKind::kString:
    case PropertyKind::kJson:
      return g_param_spec_string(name, name, about, p.has_text ? p.text.c_str() : nullptr, flags);
  }
  return nullptr;
}
void init_class(gpointer klass, const ElementSpec* spec) {
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  guint id = 1;
  for (const auto& property : spec->properties) g_object_class_install_property(object_class, id++, param_spec(property));
  gst_element_class_set_metadata(element_class, spec->name.c_str(), spec->klass.c_str(), spec->about.c_str(), "Windhover");
  GstCaps* caps = gst_caps_from_string(spec->caps.c_str());
  gst_element_class_add_pad_template(element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  if (!spec->sink)
    gst_element_class_add_pad_template(element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

// ---------------------------------------------------------------------------------------- transform

GstFlowReturn push_settled(Transform* self, const std::shared_ptr<Call>& call) {
  auto& core = *self->core;
  if (call->flow == GST_FLOW_ERROR) return report(self, GST_FLOW_ERROR, call);
  if (call->flow != GST_FLOW_OK) return call->flow;
  if (call->drop) {
    core->dropped++;
    return GST_FLOW_OK;
  }
  GstBuffer* buffer = std::exchange(call->buffer, nullptr);
  if (call->metadata != nullptr) {
    buffer = gst_buffer_make_writable(buffer);
    metadata_set(buffer, std::exchange(call->metadata, nullptr));
  }
  return gst_pad_push(self->src, buffer);
}

GstFlowReturn chain(GstPad*, GstObject* parent, GstBuffer* buffer) {
  auto* self = reinterpret_cast<Transform*>(parent);
  auto& core = *self->core;
  GstFlowReturn known = tell_format(self);
  if (known != GST_FLOW_OK) {
    gst_buffer_unref(buffer);
    return known;
  }
  // Writable: metadata is added, and for elements that draw the pixels too. Only the buffer's head is copied here.
  buffer = gst_buffer_make_writable(buffer);
  if (core->spec->in_flight > 1) return core->submit(buffer);
  std::shared_ptr<Call> call;
  GstFlowReturn flow = core->call(CallKind::kFrame, buffer, {}, &call);
  if (flow != GST_FLOW_OK) return report(self, flow, call);
  return push_settled(self, call);
}

// The thread that sends frames on in order, for elements with several in flight.
void emit_loop(gpointer data) {
  auto* self = static_cast<Transform*>(data);
  auto& core = *self->core;
  auto call = core->emit_next();
  if (!call) {
    gst_pad_pause_task(self->src);
    return;
  }
  GstFlowReturn flow = push_settled(self, call);
  core->emitted(flow);
  if (flow != GST_FLOW_OK) gst_pad_pause_task(self->src);
}
void start_emitting(Transform* self) {
  if ((*self->core)->spec->in_flight > 1) gst_pad_start_task(self->src, emit_loop, self, nullptr);
}

gboolean sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  auto* self = reinterpret_cast<Transform*>(parent);
  auto& core = *self->core;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START:
      core->cancel();
      core->notify(CallKind::kFlush);
      return gst_pad_push_event(self->src, event);
    case GST_EVENT_FLUSH_STOP: {
      if (core->spec->in_flight > 1) gst_pad_pause_task(self->src);  // returns once the loop is out
      core->allow();
      gboolean pushed = gst_pad_push_event(self->src, event);
      start_emitting(self);
      return pushed;
    }
    case GST_EVENT_CAPS: {
      GstCaps* caps;
      gst_event_parse_caps(event, &caps);
      core->drain();
      if (!take_format(self, caps)) {
        gst_event_unref(event);
        return FALSE;
      }
      return gst_pad_push_event(self->src, event);
    }
    case GST_EVENT_EOS: {
      core->drain();
      std::shared_ptr<Call> call;
      report(self, core->call(CallKind::kEnd, nullptr, {}, &call), call);
      return gst_pad_push_event(self->src, event);
    }
    default:
      if (GST_EVENT_IS_SERIALIZED(event)) core->drain();
      return gst_pad_event_default(pad, parent, event);
  }
}

// Frames held in flight are buffers a pool must have besides what downstream wants.
void ask_for_more_buffers(GstQuery* query, guint extra) {
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); i++) {
    GstBufferPool* pool;
    guint size, minimum, maximum;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &minimum, &maximum);
    if (maximum != 0) maximum += extra;
    gst_query_set_nth_allocation_pool(query, i, pool, size, minimum + extra, maximum);
    if (pool != nullptr) gst_object_unref(pool);
  }
}
gboolean sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  auto* self = reinterpret_cast<Transform*>(parent);
  if (GST_QUERY_IS_SERIALIZED(query)) (*self->core)->drain();
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION) {
    // Whatever downstream can take is what upstream may use: direct rendering and strides are kept.
    if (!gst_pad_peer_query(self->src, query)) return FALSE;
    ask_for_more_buffers(query, (*self->core)->spec->in_flight);
    return TRUE;
  }
  return gst_pad_query_default(pad, parent, query);
}
gboolean src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  auto* self = reinterpret_cast<Transform*>(parent);
  if (!gst_pad_query_default(pad, parent, query)) return FALSE;
  uint64_t own = (*self->core)->latency_ns;
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY && own > 0) {
    gboolean live;
    GstClockTime minimum, maximum;
    gst_query_parse_latency(query, &live, &minimum, &maximum);
    if (GST_CLOCK_TIME_IS_VALID(maximum)) maximum += own;
    gst_query_set_latency(query, live, minimum + own, maximum);
  }
  return TRUE;
}
gboolean src_activate(GstPad* pad, GstObject* parent, GstPadMode mode, gboolean active) {
  auto* self = reinterpret_cast<Transform*>(parent);
  if (mode != GST_PAD_MODE_PUSH) return FALSE;
  if (active) {
    start_emitting(self);
    return TRUE;
  }
  (*self->core)->cancel();
  return gst_pad_stop_task(pad);
}

GstStateChangeReturn change_transform(GstElement* element, GstStateChange change) {
  auto& core = core_of(element);
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !start(element)) return GST_STATE_CHANGE_FAILURE;
  // A streaming thread that waits for JavaScript holds the pad's stream lock, which deactivating the pad takes.
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) core->cancel();
  auto result = GST_ELEMENT_CLASS(parent_class(element))->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (change == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE))
    stop(element);
  return result;
}

void init_transform_class(gpointer klass, gpointer data) {
  auto* spec = static_cast<const ElementSpec*>(data);
  init_class(klass, spec);
  GST_ELEMENT_CLASS(klass)->change_state = change_transform;
}
void init_transform(GTypeInstance* instance, gpointer klass) {
  auto* self = reinterpret_cast<Transform*>(instance);
  // During instance_init the object's type may still be the parent's; the class is always the right one.
  auto* spec = static_cast<const ElementSpec*>(g_type_get_qdata(G_TYPE_FROM_CLASS(klass), spec_quark()));
  self->core = new std::shared_ptr<ElementCore>(std::make_shared<ElementCore>(spec, GST_ELEMENT(self), Bridge::current()));
  auto* element_class = GST_ELEMENT_CLASS(klass);
  self->sink = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "sink"), "sink");
  self->src = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "src"), "src");
  gst_pad_set_chain_function(self->sink, chain);
  gst_pad_set_event_function(self->sink, sink_event);
  gst_pad_set_query_function(self->sink, sink_query);
  gst_pad_set_query_function(self->src, src_query);
  gst_pad_set_activatemode_function(self->src, src_activate);
  GST_PAD_SET_PROXY_CAPS(self->sink);
  GST_PAD_SET_PROXY_CAPS(self->src);
  GST_PAD_SET_PROXY_SCHEDULING(self->sink);
  gst_element_add_pad(GST_ELEMENT(self), self->sink);
  gst_element_add_pad(GST_ELEMENT(self), self->src);
}

// ---------------------------------------------------------------------------------------- sink

gboolean sink_start(GstBaseSink* sink) { return start(sink); }
gboolean sink_stop(GstBaseSink* sink) {
  stop(sink);
  return TRUE;
}
gboolean sink_set_caps(GstBaseSink* sink, GstCaps* caps) { return take_format(sink, caps); }
gboolean base_sink_event(GstBaseSink* sink, GstEvent* event) {
  auto& core = core_of(sink);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) {
    core->cancel();
    core->notify(CallKind::kFlush);
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    core->allow();
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
    std::shared_ptr<Call> call;
    report(sink, core->call(CallKind::kEnd, nullptr, {}, &call), call);
  }
  return GST_BASE_SINK_CLASS(parent_class(sink))->event(sink, event);
}
GstFlowReturn render(GstBaseSink* sink, GstBuffer* buffer) {
  // State changes need this lock, and must not wait for a handler: neither to play while it has the first frame, nor to
  // pause. GstBaseSink gives it away while it waits for the clock, too.
  GST_BASE_SINK_PREROLL_UNLOCK(sink);
  std::shared_ptr<Call> call;
  GstFlowReturn flow = tell_format(sink);
  if (flow == GST_FLOW_OK) flow = report(sink, core_of(sink)->call(CallKind::kFrame, gst_buffer_ref(buffer), {}, &call), call);
  GST_BASE_SINK_PREROLL_LOCK(sink);
  return flow;
}
gboolean sink_allocation(GstBaseSink*, GstQuery* query) {
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}
// GstBaseSink starts at NULL to READY and never says that a cancelled sink may go on after READY. Its unlock() is not
// used: it comes for a pause too, and that must not discard the frame which the handler has at that moment.
GstStateChangeReturn change_sink(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) core_of(element)->allow();
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) core_of(element)->cancel();
  return GST_ELEMENT_CLASS(parent_class(element))->change_state(element, change);
}

void init_sink_class(gpointer klass, gpointer data) {
  init_class(klass, static_cast<const ElementSpec*>(data));
  GST_ELEMENT_CLASS(klass)->change_state = change_sink;
  auto* base = GST_BASE_SINK_CLASS(klass);
  base->start = sink_start;
  base->stop = sink_stop;
  base->set_caps = sink_set_caps;
  base->event = base_sink_event;
  base->render = render;
  base->propose_allocation = sink_allocation;
}
void init_sink(GTypeInstance* instance, gpointer klass) {
  auto* self = reinterpret_cast<Sink*>(instance);
  auto* spec = static_cast<const ElementSpec*>(g_type_get_qdata(G_TYPE_FROM_CLASS(klass), spec_quark()));
  self->core = new std::shared_ptr<ElementCore>(std::make_shared<ElementCore>(spec, GST_ELEMENT(self), Bridge::current()));
  // Pacing is the source's work alone; a sink takes frames as they come.
  gst_base_sink_set_sync(GST_BASE_SINK(self), FALSE);
}
}  // namespace

void register_ts_element(std::unique_ptr<ElementSpec> fresh) {
  std::lock_guard<std::mutex> lock(specs_mutex);
  if (specs().count(fresh->name) != 0) return;
  const ElementSpec* spec = fresh.release();
  GTypeInfo info = {};
  info.class_data = spec;
  info.class_size = spec->sink ? sizeof(SinkClass) : sizeof(TransformClass);
  info.class_init = spec->sink ? init_sink_class : init_transform_class;
  info.instance_size = spec->sink ? sizeof(Sink) : sizeof(Transform);
  info.instance_init = spec->sink ? init_sink : init_transform;
  GType type = g_type_register_static(spec->sink ? GST_TYPE_BASE_SINK : GST_TYPE_ELEMENT,
                                      ("Windhover_" + spec->name).c_str(), &info, static_cast<GTypeFlags>(0));
  g_type_set_qdata(type, spec_quark(), const_cast<ElementSpec*>(spec));
  gst_element_register(nullptr, spec->name.c_str(), GST_RANK_NONE, type);
  specs()[spec->name] = {spec, type};
}

std::shared_ptr<ElementCore> ts_element_core(GstElement* element) {
  return spec_of(element) == nullptr ? nullptr : core_of(element);
}

std::string format_json(GstCaps* caps, const GstVideoInfo* video) {
  gchar* text = gst_caps_to_string(caps);
  const GstStructure* structure = gst_caps_get_structure(caps, 0);
  int width = 0, height = 0, numerator = 0, denominator = 1;
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  gst_structure_get_fraction(structure, "framerate", &numerator, &denominator);
  char fps[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr(fps, sizeof fps, denominator > 0 ? static_cast<double>(numerator) / denominator : 0);
  std::string out = "{\"caps\":" + json_string(text) + ",\"mediaType\":" + json_string(gst_structure_get_name(structure)) +
                    ",\"pixels\":" + (video != nullptr ? json_string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(video))) : "null") +
                    ",\"width\":" + std::to_string(width) + ",\"height\":" + std::to_string(height) + ",\"fps\":" + fps + "}";
  g_free(text);
  return out;
}
