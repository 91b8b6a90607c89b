// A TypeScript element that ends a chain.
#include <gst/base/gstbasesink.h>
#include <gst/video/video.h>

#include <cstddef>

#include "ts_element.h"

namespace {
struct Sink {
  GstBaseSink base;
  OwnedCore core;
};
struct SinkClass {
  GstBaseSinkClass base;
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

GTypeInfo ts_sink_info(const ElementSpec* spec) {
  GTypeInfo info = {};
  info.class_data = spec;
  info.class_size = sizeof(SinkClass);
  info.class_init = init_sink_class;
  info.instance_size = sizeof(Sink);
  info.instance_init = init_sink;
  return info;
}
