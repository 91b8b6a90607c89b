#include "probes.h"

#include <atomic>
#include <chrono>

namespace {
guint64 now_ns() { return static_cast<guint64>(std::chrono::steady_clock::now().time_since_epoch().count()); }

GstPad* first_pad(GstElement* element, GstPadDirection direction) {
  GstPad* pad = nullptr;
  GST_OBJECT_LOCK(element);
  GList* pads = direction == GST_PAD_SRC ? element->srcpads : element->sinkpads;
  if (pads != nullptr) pad = GST_PAD(gst_object_ref(pads->data));
  GST_OBJECT_UNLOCK(element);
  return pad;
}
bool can_have_output(GstElement* element, GstPadPresence* presence = nullptr) {
  for (GList* at = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element)); at != nullptr; at = at->next) {
    auto* pad_template = GST_PAD_TEMPLATE(at->data);
    if (GST_PAD_TEMPLATE_DIRECTION(pad_template) != GST_PAD_SRC) continue;
    if (presence != nullptr) *presence = GST_PAD_TEMPLATE_PRESENCE(pad_template);
    return true;
  }
  return false;
}
// Outputs of a tee come and go, and all say the same: what it gives is what it takes.
bool seen_at_input(GstElement* element) {
  GstPadPresence presence;
  return !can_have_output(element, &presence) || presence == GST_PAD_REQUEST;
}

using Visit = std::function<GstPadProbeReturn(GstPad*, GstPadProbeInfo*)>;
GstPadProbeReturn on_probe(GstPad* pad, GstPadProbeInfo* info, gpointer data) { return (*static_cast<Visit*>(data))(pad, info); }
void add_probe(GstPad* pad, Visit visit) {
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_probe, new Visit(std::move(visit)),
                    [](gpointer data) { delete static_cast<Visit*>(data); });
}

// Pads of demuxers and autopluggers come later: the visit is made at those that are linked.
void on_output(GstElement* element, Visit visit) {
  GstPad* pad = first_pad(element, GST_PAD_SRC);
  if (pad != nullptr) {
    add_probe(pad, std::move(visit));
    gst_object_unref(pad);
    return;
  }
  auto added = [](GstElement*, GstPad* pad, gpointer data) {
    if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC) return;
    // Streams that nobody takes, such as the sound of a film, push their buffers all the same.
    add_probe(pad, [visit = *static_cast<Visit*>(data)](GstPad* pad, GstPadProbeInfo* info) {
      return gst_pad_is_linked(pad) ? visit(pad, info) : GST_PAD_PROBE_OK;
    });
  };
  g_signal_connect_data(element, "pad-added", G_CALLBACK(+added), new Visit(std::move(visit)),
                        [](gpointer data, GClosure*) { delete static_cast<Visit*>(data); }, static_cast<GConnectFlags>(0));
}
// Where a node's frames are seen: at its output, or for sinks and tees at its input.
void on_frames(GstElement* element, Visit visit) {
  if (!seen_at_input(element)) return on_output(element, std::move(visit));
  GstPad* pad = first_pad(element, GST_PAD_SINK);
  if (pad == nullptr) return;
  add_probe(pad, std::move(visit));
  gst_object_unref(pad);
}
}  // namespace

std::string limit_stream(GstElement* element, uint64_t frames, uint64_t until_ns) {
  if (!can_have_output(element)) return "a stream can only be ended at a node that has an output";
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
    gst_buffer_unref(buffer);  // HANDLED: the probe has taken it
    GST_PAD_PROBE_INFO_DATA(info) = nullptr;
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
    return GST_PAD_PROBE_HANDLED;
  });
  return {};
}

std::string tap_buffers(GstElement* element, std::function<bool(GstPad*, GstBuffer*)> seen) {
  on_frames(element, [seen = std::move(seen)](GstPad* pad, GstPadProbeInfo* info) {
    return seen(pad, GST_PAD_PROBE_INFO_BUFFER(info)) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_REMOVE;
  });
  return {};
}

std::shared_ptr<Meter> Meter::create(GstElement* first, GstElement* last) {
  auto meter = std::make_shared<Meter>();
  std::weak_ptr<Meter> weak = meter;
  GstPad* entry = first_pad(first, GST_PAD_SINK);
  if (entry != nullptr) {
    add_probe(entry, [weak](GstPad*, GstPadProbeInfo* info) {
      auto meter = weak.lock();
      if (!meter) return GST_PAD_PROBE_REMOVE;
      meter->entered(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
      return GST_PAD_PROBE_OK;
    });
    gst_object_unref(entry);
  }
  if (can_have_output(last)) {
    on_frames(last, [weak](GstPad*, GstPadProbeInfo* info) {
      auto meter = weak.lock();
      if (!meter) return GST_PAD_PROBE_REMOVE;
      meter->left(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
      return GST_PAD_PROBE_OK;
    });
  }
  return meter;
}
void Meter::entered(GstClockTime pts) {
  in++;
  std::lock_guard<std::mutex> lock(mutex_);
  ring_[next_++ % kRing] = {pts, now_ns()};
}
void Meter::left(GstClockTime pts) {
  size_t nth = out++;
  guint64 since = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t back = 1; back <= kRing && back <= next_ && since == 0; back++) {
      const Entry& entry = ring_[(next_ - back) % kRing];
      if (entry.pts == pts) since = entry.at_ns;
    }
    // Encoders shift all times by an hour and more: then the nth that leaves is the nth that came.
    if (since == 0 && nth < next_ && next_ - nth <= kRing) since = ring_[nth % kRing].at_ns;
  }
  if (since != 0) durations.add(now_ns() - since);
}
