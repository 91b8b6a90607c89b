#include "pad_link.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "property.h"

// ------------------------------------------------------------------------------------------------ input size

namespace {
constexpr const char* event_name = "windhover-input-size";

gboolean lacks_event(GstElement*, GstPad* pad, gpointer) {
  GstEvent* event = nullptr;
  for (guint i = 0; (event = gst_pad_get_sticky_event(pad, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, i)) != nullptr; i++) {
    const bool found = gst_event_has_name(event, event_name);
    gst_event_unref(event);
    if (found) return FALSE;
  }
  return TRUE;
}

bool has_raw_video(GstCaps* caps) {
  return caps != nullptr && gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw");
}

// The caps that were announced last; only compared. Streaming thread.
struct Announced {
  Ref<GstCaps> caps;
};

// With the first frame, not with the caps: all events that must precede it have been sent by then.
GstPadProbeReturn on_buffer(GstPad* pad, GstPadProbeInfo*, gpointer data) {
  auto* announced = static_cast<Announced*>(data);
  Ref<GstCaps> caps(gst_pad_get_current_caps(pad));
  if (caps == announced->caps) return GST_PAD_PROBE_OK;
  Ref<GstElement> element(gst_pad_get_parent_element(pad));
  const bool is_origin = has_raw_video(caps.get()) && element && gst_element_foreach_sink_pad(element.get(), lacks_event, nullptr);
  if (!is_origin) return GST_PAD_PROBE_REMOVE;
  int width = 0, height = 0;
  const GstStructure* structure = gst_caps_get_structure(caps.get(), 0);
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  announced->caps = std::move(caps);
  gst_pad_push_event(pad, input_size_event(width, height));
  return GST_PAD_PROBE_OK;
}

// Control thread, once per linked pad. Has no effect on pads whose element receives the event from upstream.
void announce_input_size(GstPad* src) {
  gst_pad_add_probe(src, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, new Announced, delete_data<Announced>);
}
}  // namespace

GstEvent* input_size_event(int width, int height) {
  return gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_new(event_name, "width", G_TYPE_INT, width,
                                                                                    "height", G_TYPE_INT, height, nullptr));
}

bool parse_input_size(GstEvent* event, int* width, int* height) {
  if (!gst_event_has_name(event, event_name)) return false;
  const GstStructure* structure = gst_event_get_structure(event);
  return gst_structure_get_int(structure, "width", width) && gst_structure_get_int(structure, "height", height);
}

// ------------------------------------------------------------------------------------------------ linking

Ref<GstPad> take_pad(GstElement* element, const std::string& name, GstPadDirection direction, GstPad* peer) {
  if (!name.empty()) {
    Ref<GstPad> pad(gst_element_get_static_pad(element, name.c_str()));
    return pad ? std::move(pad) : Ref<GstPad>(gst_element_request_pad_simple(element, name.c_str()));
  }
  Ref<GstPad> found;
  GST_OBJECT_LOCK(element);
  for (GList* at = direction == GST_PAD_SRC ? element->srcpads : element->sinkpads; at != nullptr && !found; at = at->next) {
    auto* pad = GST_PAD(at->data);
    if (!GST_PAD_IS_LINKED(pad)) found = new_ref(pad);
  }
  GST_OBJECT_UNLOCK(element);
  if (found) return found;
  if (peer != nullptr) return Ref<GstPad>(gst_element_get_compatible_pad(element, peer, nullptr));
  GstPadTemplate* requestable = find_template(element, direction, GST_PAD_REQUEST);
  return Ref<GstPad>(requestable == nullptr ? nullptr : gst_element_request_pad(element, requestable, nullptr, nullptr));
}

namespace {
// Pads listed in an error message.
constexpr size_t kSeen = 12;

std::string caps_of(GstPad* pad) {
  std::string text = text_of(Ref<GstCaps>(gst_pad_query_caps(pad, nullptr)).get());
  return text.size() > 200 ? text.substr(0, 200) + " …" : text;
}

std::string link_pads(GstPad* src, GstPad* sink, GstElement* from, GstElement* to) {
  std::string error = prepare_pad(from, src);
  if (!error.empty()) return name_of(from) + " " + error;
  error = prepare_pad(to, sink);
  if (!error.empty()) return name_of(to) + " " + error;
  GstPadLinkReturn result = gst_pad_link(src, sink);
  if (result == GST_PAD_LINK_OK) {
    announce_input_size(src);
    return {};
  }
  return "cannot link " + name_of(from) + " to " + name_of(to) + ": " + gst_pad_link_get_name(result) + " (" +
         name_of(from) + " gives " + caps_of(src) + "; " + name_of(to) + " takes " + caps_of(sink) + ")";
}

// Releases a requested pad that was not linked.
void give_back(GstElement* element, GstPad* pad) {
  Ref<GstPadTemplate> pad_template(gst_pad_get_pad_template(pad));
  if (pad_template && GST_PAD_TEMPLATE_PRESENCE(pad_template.get()) == GST_PAD_REQUEST) gst_element_release_request_pad(element, pad);
}

// A link that waits for its pad. Owned by the signal handlers and probes of `from`; streaming threads.
struct Awaited {
  std::string from_pad;  // empty: any
  GstElement* to;        // weak: both live in one bin
  std::string to_pad;
  Ref<GstCaps> caps;         // null: any
  std::mutex mutex;          // guards the following members
  GstPad* linked = nullptr;  // only compared
  bool reported = false;
  std::vector<std::pair<std::string, std::string>> seen;  // names of pads and their media types
  ~Awaited() {
    if (to != nullptr) g_object_remove_weak_pointer(G_OBJECT(to), reinterpret_cast<gpointer*>(&to));
  }
};
using Share = std::shared_ptr<Awaited>;

// Empty for ANY and EMPTY caps.
std::string media_type(GstCaps* caps) {
  return gst_caps_is_empty(caps) || gst_caps_is_any(caps) ? "" : gst_structure_get_name(gst_caps_get_structure(caps, 0));
}

std::string template_of(GstPad* pad) {
  Ref<GstPadTemplate> pad_template(gst_pad_get_pad_template(pad));
  return pad_template ? GST_PAD_TEMPLATE_NAME_TEMPLATE(pad_template.get()) : "";
}

void on_pad(GstElement* from, GstPad* pad, gpointer data) {
  auto* awaited = static_cast<Share*>(data)->get();
  if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC || awaited->to == nullptr) return;
  std::lock_guard<std::mutex> lock(awaited->mutex);
  Ref<GstCaps> caps(gst_pad_get_current_caps(pad));
  if (!caps) caps.reset(gst_pad_query_caps(pad, nullptr));
  std::string name = name_of(pad);
  bool fits = (awaited->from_pad.empty() || awaited->from_pad == name || awaited->from_pad == template_of(pad)) &&
              (!awaited->caps || gst_caps_can_intersect(caps.get(), awaited->caps.get()));
  if (awaited->seen.size() < kSeen) awaited->seen.emplace_back(name, media_type(caps.get()));
  // A linked pad belongs to another link of this element.
  if (!fits || awaited->linked != nullptr || GST_PAD_IS_LINKED(pad)) return;
  Ref<GstPad> sink = take_pad(awaited->to, awaited->to_pad, GST_PAD_SINK, pad);
  // A link that takes any pad skips incompatible ones: they are for other links.
  const bool skip = awaited->from_pad.empty() && !awaited->caps && (!sink || !gst_pad_can_link(pad, sink.get()));
  std::string error;
  if (!skip) error = sink ? link_pads(pad, sink.get(), from, awaited->to) : name_of(awaited->to) + " has no free input";
  if (!skip && error.empty()) {
    awaited->linked = pad;
    return;
  }
  if (sink) give_back(awaited->to, sink.get());
  if (!error.empty()) GST_ELEMENT_ERROR(from, STREAM, FORMAT, ("%s", error.c_str()), (nullptr));
}
// In READY an element loses its pads; new ones appear when it plays again.
void on_pad_removed(GstElement*, GstPad* pad, gpointer data) {
  auto* awaited = static_cast<Share*>(data)->get();
  std::lock_guard<std::mutex> lock(awaited->mutex);
  if (awaited->linked == pad) awaited->linked = nullptr;
  awaited->seen.clear();
  awaited->reported = false;
}

// `audio` of `audio_0`.
std::string kind_of_pad(const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789_%u") + 1); }

// The media type of a free input, for an error message.
std::string input_type(GstElement* to) {
  Ref<GstPad> input = to == nullptr || to->numsinkpads == 0 ? nullptr : take_pad(to, "", GST_PAD_SINK, nullptr);
  if (!input) return "any stream";
  std::string type = media_type(Ref<GstCaps>(gst_pad_query_caps(input.get(), nullptr)).get());
  give_back(to, input.get());
  return type.empty() ? "any stream" : type;
}

std::string describe_missing(const Awaited& awaited) {
  std::string found;
  bool same_kind = false;
  for (const auto& [name, type] : awaited.seen) {
    found += (found.empty() ? "" : ", ") + name + (type.empty() ? "" : " (" + type + ")");
    same_kind = same_kind || kind_of_pad(name) == kind_of_pad(awaited.from_pad);
  }
  if (!awaited.from_pad.empty()) {
    std::string kind = kind_of_pad(awaited.from_pad);
    bool lacks = !same_kind && (kind == "video" || kind == "audio" || kind == "subtitle");
    return "no pad \"" + awaited.from_pad + "\" appeared: the stream has " + (found.empty() ? "no pads" : found) +
           (lacks ? ", and no " + kind : "");
  }
  std::string expected = awaited.caps ? text_of(awaited.caps.get()) : input_type(awaited.to);
  return "no stream that fits: expected " + expected + ", found " + (found.empty() ? "nothing" : found);
}
void report_missing(GstElement* from, Awaited& awaited) {
  std::string error;
  {
    std::lock_guard<std::mutex> lock(awaited.mutex);
    if (awaited.linked != nullptr || awaited.reported) return;
    awaited.reported = true;
    error = describe_missing(awaited);
  }
  GST_ELEMENT_ERROR(from, STREAM, WRONG_TYPE, ("%s", error.c_str()), (nullptr));
}
void on_all_pads(GstElement* from, gpointer data) { report_missing(from, **static_cast<Share*>(data)); }

// Some elements never emit `no-more-pads`: once they have handled the end of their input, no pad follows. Not for bins, in
// which other elements may still be busy.
struct Ended {
  Share awaited;
  Ref<GstPad> input;
};
void on_end_handled(GstElement* from, gpointer data) {
  auto* ended = static_cast<Ended*>(data);
  GST_PAD_STREAM_LOCK(ended->input.get());
  GST_PAD_STREAM_UNLOCK(ended->input.get());
  report_missing(from, *ended->awaited);
}
GstPadProbeReturn on_input(GstPad* input, GstPadProbeInfo* info, gpointer data) {
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_EOS) return GST_PAD_PROBE_OK;
  if (Ref<GstElement> from{gst_pad_get_parent_element(input)}) {
    auto* ended = new Ended{*static_cast<Share*>(data), new_ref(input)};
    gst_element_call_async(from.get(), on_end_handled, ended, delete_data<Ended>);
  }
  return GST_PAD_PROBE_OK;
}
void watch_inputs(GstElement* from, const Share& awaited) {
  if (GST_IS_BIN(from)) return;
  GST_OBJECT_LOCK(from);
  for (GList* at = from->sinkpads; at != nullptr; at = at->next)
    gst_pad_add_probe(GST_PAD(at->data), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_input, new Share(awaited), delete_data<Share>);
  GST_OBJECT_UNLOCK(from);
}
}  // namespace

std::string link_elements(GstElement* from, const std::string& from_pad, GstElement* to, const std::string& to_pad,
                          const std::string& caps_text) {
  Ref<GstCaps> caps;
  if (!caps_text.empty()) {
    caps.reset(gst_caps_from_string(caps_text.c_str()));
    if (!caps) return "\"" + caps_text + "\" are not valid caps";
  }
  Ref<GstPad> src = take_pad(from, from_pad, GST_PAD_SRC, nullptr);
  if (!src && find_template(from, GST_PAD_SRC, GST_PAD_SOMETIMES) != nullptr) {
    auto awaited = std::make_shared<Awaited>();
    awaited->from_pad = from_pad;
    awaited->to = to;
    g_object_add_weak_pointer(G_OBJECT(to), reinterpret_cast<gpointer*>(&awaited->to));
    awaited->to_pad = to_pad;
    awaited->caps = std::move(caps);
    connect_owning(from, "pad-added", G_CALLBACK(on_pad), new Share(awaited));
    connect_owning(from, "pad-removed", G_CALLBACK(on_pad_removed), new Share(awaited));
    connect_owning(from, "no-more-pads", G_CALLBACK(on_all_pads), new Share(awaited));
    watch_inputs(from, awaited);
    return {};
  }
  if (!src) return name_of(from) + " has no free output" + (from_pad.empty() ? "" : " \"" + from_pad + "\"");
  Ref<GstPad> sink = take_pad(to, to_pad, GST_PAD_SINK, src.get());
  std::string error = sink ? link_pads(src.get(), sink.get(), from, to) : name_of(to) + " has no free input for " + caps_of(src.get());
  if (error.empty()) return {};
  give_back(from, src.get());
  if (sink) give_back(to, sink.get());
  return error;
}
