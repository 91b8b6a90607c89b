// The two kinds of TypeScript elements: transforms, with input and output, and sinks. Streaming threads, except for state
// changes.
#include <gst/base/gstbasesink.h>
#include <gst/video/video.h>

#include <cstddef>
#include <utility>

#include "gst_cpp.h"
#include "ts_element.h"

namespace {
// ------------------------------------------------------------------------------------------------ transform

// One frame at a time on the caller's thread, or several in flight, pushed in order by its own thread.
struct Transform {
  GstElement base;
  OwnedCore core;
  GstPad *sink, *src;
};
static_assert(offsetof(Transform, core) == sizeof(GstElement));

GstFlowReturn push_settled(Transform* self, const std::shared_ptr<Call>& call) {
  auto& core = *self->core;
  if (call->flow == GST_FLOW_ERROR) return ts_report(self, GST_FLOW_ERROR, call);
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
  GstFlowReturn sent = ts_send_format(self);
  if (sent != GST_FLOW_OK || core->is_primer(buffer)) {
    gst_buffer_unref(buffer);
    return sent;
  }
  // Writable for metadata, and for the pixels of elements that draw. Copies no pixels here.
  buffer = gst_buffer_make_writable(buffer);
  if (core->spec->in_flight > 1) return core->submit(buffer);
  std::shared_ptr<Call> call;
  GstFlowReturn flow = core->call(CallKind::kFrame, buffer, {}, &call);
  if (flow != GST_FLOW_OK) return ts_report(self, flow, call);
  return push_settled(self, call);
}

// The task that pushes frames in order, for elements with several in flight.
void emit_loop(gpointer data) {
  auto* self = static_cast<Transform*>(data);
  auto& core = *self->core;
  auto call = core->emit_next();
  if (!call) {
    gst_pad_pause_task(self->src);
    return;
  }
  GstFlowReturn flow = GST_FLOW_OK;
  if (call->event != nullptr) {
    gst_pad_push_event(self->src, std::exchange(call->event, nullptr));
  } else {
    flow = push_settled(self, call);
  }
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
      if (core->spec->in_flight > 1) gst_pad_pause_task(self->src);  // waits for the current iteration
      core->allow();
      gboolean pushed = gst_pad_push_event(self->src, event);
      start_emitting(self);
      return pushed;
    }
    case GST_EVENT_CAPS: {
      GstCaps* caps;
      gst_event_parse_caps(event, &caps);
      core->drain();
      if (!ts_take_format(self, caps)) {
        gst_event_unref(event);
        return FALSE;
      }
      return gst_pad_push_event(self->src, event);
    }
    case GST_EVENT_EOS: {
      core->drain();
      std::shared_ptr<Call> call;
      ts_report(self, core->call(CallKind::kEnd, nullptr, {}, &call), call);
      return gst_pad_push_event(self->src, event);
    }
    case GST_EVENT_TAG:
      // Parsers send the bit rate repeatedly.
      if (core->spec->in_flight > 1) return core->submit(event) == GST_FLOW_OK;
      return gst_pad_event_default(pad, parent, event);
    default:
      if (GST_EVENT_IS_SERIALIZED(event)) core->drain();
      ts_note_event(self, event);
      return gst_pad_event_default(pad, parent, event);
  }
}

// A pool needs buffers for the frames in flight besides those of downstream.
void request_more_buffers(GstQuery* query, guint extra) {
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
    // Upstream may use whatever downstream accepts: keeps direct rendering and strides.
    if (!gst_pad_peer_query(self->src, query)) return FALSE;
    request_more_buffers(query, (*self->core)->in_flight);
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
  auto& core = ts_core_of(element);
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !ts_start(element)) return GST_STATE_CHANGE_FAILURE;
  // A streaming thread that waits for JavaScript holds the stream lock, which deactivating the pad needs.
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) core->cancel();
  auto result = GST_ELEMENT_CLASS(ts_parent_class(element))->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (change == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE))
    ts_stop(element);
  return result;
}

void init_transform_class(gpointer klass, gpointer data) {
  ts_init_class(klass, static_cast<const ElementSpec*>(data));
  GST_ELEMENT_CLASS(klass)->change_state = change_transform;
}
void init_transform(GTypeInstance* instance, gpointer klass) {
  auto* self = reinterpret_cast<Transform*>(instance);
  self->core = ts_new_core(klass);
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

// ------------------------------------------------------------------------------------------------ sink

struct Sink {
  GstBaseSink base;
  OwnedCore core;
};
static_assert(offsetof(Sink, core) == sizeof(GstBaseSink));

gboolean sink_start(GstBaseSink* sink) { return ts_start(sink); }
gboolean sink_stop(GstBaseSink* sink) {
  ts_stop(sink);
  return TRUE;
}
gboolean sink_set_caps(GstBaseSink* sink, GstCaps* caps) { return ts_take_format(sink, caps); }
gboolean base_sink_event(GstBaseSink* sink, GstEvent* event) {
  auto& core = ts_core_of(sink);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) {
    core->cancel();
    core->notify(CallKind::kFlush);
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    core->allow();
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
    std::shared_ptr<Call> call;
    ts_report(sink, core->call(CallKind::kEnd, nullptr, {}, &call), call);
  } else {
    ts_note_event(sink, event);
  }
  return GST_BASE_SINK_CLASS(ts_parent_class(sink))->event(sink, event);
}
GstFlowReturn render(GstBaseSink* sink, GstBuffer* buffer) {
  if (ts_core_of(sink)->is_primer(buffer)) return GST_FLOW_OK;
  // State changes take this lock and must not wait for a handler. GstBaseSink also releases it while it waits for the
  // clock.
  GST_BASE_SINK_PREROLL_UNLOCK(sink);
  std::shared_ptr<Call> call;
  GstFlowReturn flow = ts_send_format(sink);
  if (flow == GST_FLOW_OK) flow = ts_report(sink, ts_core_of(sink)->call(CallKind::kFrame, gst_buffer_ref(buffer), {}, &call), call);
  GST_BASE_SINK_PREROLL_LOCK(sink);
  return flow;
}
gboolean sink_allocation(GstBaseSink*, GstQuery* query) {
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}
// GstBaseSink calls start() from NULL to READY only, so a cancelled sink is allowed again here. Its unlock() is not used: a
// pause calls it too, and must not discard the frame in the handler.
GstStateChangeReturn change_sink(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) ts_core_of(element)->allow();
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) ts_core_of(element)->cancel();
  return GST_ELEMENT_CLASS(ts_parent_class(element))->change_state(element, change);
}

void init_sink_class(gpointer klass, gpointer data) {
  ts_init_class(klass, static_cast<const ElementSpec*>(data));
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
  self->core = ts_new_core(klass);
  // The source paces the pipeline; sinks take frames as they come.
  gst_base_sink_set_sync(GST_BASE_SINK(self), FALSE);
}
}  // namespace

GType ts_register_type(const ElementSpec* spec, const char* name) {
  return spec->sink ? register_type<Sink>(GST_TYPE_BASE_SINK, name, init_sink_class, init_sink, spec)
                    : register_type<Transform>(GST_TYPE_ELEMENT, name, init_transform_class, init_transform, spec);
}
