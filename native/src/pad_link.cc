#include "pad_link.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "input_size.h"
#include "property.h"

GstPad* take_pad(GstElement* element, const std::string& name, GstPadDirection direction, GstPad* peer) {
  if (!name.empty()) {
    GstPad* pad = gst_element_get_static_pad(element, name.c_str());
    return pad != nullptr ? pad : gst_element_request_pad_simple(element, name.c_str());
  }
  GstPad* found = nullptr;
  GST_OBJECT_LOCK(element);
  for (GList* at = direction == GST_PAD_SRC ? element->srcpads : element->sinkpads; at != nullptr && found == nullptr; at = at->next) {
    auto* pad = GST_PAD(at->data);
    if (!GST_PAD_IS_LINKED(pad)) found = GST_PAD(gst_object_ref(pad));
  }
  GST_OBJECT_UNLOCK(element);
  if (found != nullptr) return found;
  if (peer != nullptr) return gst_element_get_compatible_pad(element, peer, nullptr);
  for (GList* at = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element)); at != nullptr; at = at->next) {
    auto* pad_template = GST_PAD_TEMPLATE(at->data);
    if (GST_PAD_TEMPLATE_DIRECTION(pad_template) == direction && GST_PAD_TEMPLATE_PRESENCE(pad_template) == GST_PAD_REQUEST)
      return gst_element_request_pad(element, pad_template, nullptr, nullptr);
  }
  return nullptr;
}

namespace {
// Pads named in a message.
constexpr size_t kSeen = 12;

std::string name_of(gpointer object) {
  gchar* name = gst_object_get_name(GST_OBJECT(object));
  std::string out = name;
  g_free(name);
  return out;
}
std::string caps_of(GstPad* pad) {
  GstCaps* caps = gst_pad_query_caps(pad, nullptr);
  gchar* text = gst_caps_to_string(caps);
  std::string out = text;
  g_free(text);
  gst_caps_unref(caps);
  return out.size() > 200 ? out.substr(0, 200) + " …" : out;
}

bool appears_later(GstElement* element) {
  for (GList* at = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element)); at != nullptr; at = at->next) {
    auto* pad_template = GST_PAD_TEMPLATE(at->data);
    if (GST_PAD_TEMPLATE_DIRECTION(pad_template) == GST_PAD_SRC && GST_PAD_TEMPLATE_PRESENCE(pad_template) == GST_PAD_SOMETIMES)
      return true;
  }
  return false;
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

// Pads that were requested and did not come to be linked would stay on their element.
void give_back(GstElement* element, GstPad* pad, bool linked) {
  GstPadTemplate* pad_template = linked ? nullptr : gst_pad_get_pad_template(pad);
  if (pad_template != nullptr && GST_PAD_TEMPLATE_PRESENCE(pad_template) == GST_PAD_REQUEST) gst_element_release_request_pad(element, pad);
  if (pad_template != nullptr) gst_object_unref(pad_template);
  gst_object_unref(pad);
}

// A link that waits for its pad. Owned by the signal connections and probes of `from`; streaming threads.
struct Awaited {
  std::string from_pad;  // empty: any
  GstElement* to;        // weak: both live in one bin
  std::string to_pad;
  GstCaps* caps;     // null: any
  std::mutex mutex;  // guards what follows
  GstPad* linked = nullptr;  // only ever compared
  bool reported = false;
  std::vector<std::pair<std::string, std::string>> seen;  // names of pads and their media types
  ~Awaited() {
    if (to != nullptr) g_object_remove_weak_pointer(G_OBJECT(to), reinterpret_cast<gpointer*>(&to));
    if (caps != nullptr) gst_caps_unref(caps);
  }
};
using Share = std::shared_ptr<Awaited>;

// Of `any` or nothing: empty.
std::string media_type(GstCaps* caps) {
  return gst_caps_is_empty(caps) || gst_caps_is_any(caps) ? "" : gst_structure_get_name(gst_caps_get_structure(caps, 0));
}

std::string template_of(GstPad* pad) {
  GstPadTemplate* pad_template = gst_pad_get_pad_template(pad);
  if (pad_template == nullptr) return "";
  std::string name = GST_PAD_TEMPLATE_NAME_TEMPLATE(pad_template);
  gst_object_unref(pad_template);
  return name;
}

void on_pad(GstElement* from, GstPad* pad, gpointer data) {
  auto* awaited = static_cast<Share*>(data)->get();
  if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC || awaited->to == nullptr) return;
  std::lock_guard<std::mutex> lock(awaited->mutex);
  GstCaps* caps = gst_pad_get_current_caps(pad);
  if (caps == nullptr) caps = gst_pad_query_caps(pad, nullptr);
  std::string name = name_of(pad);
  bool fits = (awaited->from_pad.empty() || awaited->from_pad == name || awaited->from_pad == template_of(pad)) &&
              (awaited->caps == nullptr || gst_caps_can_intersect(caps, awaited->caps));
  if (awaited->seen.size() < kSeen) awaited->seen.emplace_back(name, media_type(caps));
  gst_caps_unref(caps);
  // A pad that is linked already belongs to another link of this element.
  if (!fits || awaited->linked != nullptr || GST_PAD_IS_LINKED(pad)) return;
  GstPad* sink = take_pad(awaited->to, awaited->to_pad, GST_PAD_SINK, pad);
  bool any = awaited->from_pad.empty() && awaited->caps == nullptr;
  // Any compatible pad: one that is not is left for another link, and the next one may be.
  if (any && (sink == nullptr || !gst_pad_can_link(pad, sink))) {
    if (sink != nullptr) give_back(awaited->to, sink, false);
    return;
  }
  std::string error = sink == nullptr ? name_of(awaited->to) + " has no free input" : link_pads(pad, sink, from, awaited->to);
  if (sink != nullptr) give_back(awaited->to, sink, error.empty());
  if (error.empty()) awaited->linked = pad;
  else GST_ELEMENT_ERROR(from, STREAM, FORMAT, ("%s", error.c_str()), (nullptr));
}
// Back to READY its pads go; when it plays again, others come.
void on_pad_gone(GstElement*, GstPad* pad, gpointer data) {
  auto* awaited = static_cast<Share*>(data)->get();
  std::lock_guard<std::mutex> lock(awaited->mutex);
  if (awaited->linked == pad) awaited->linked = nullptr;
  awaited->seen.clear();
  awaited->reported = false;
}

// `audio` of `audio_0`.
std::string kind_of_pad(const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789_%u") + 1); }

// What an input that is still free takes. Nothing is requested for it: this is for a message only.
std::string input_type(GstElement* to) {
  GstPad* input = to == nullptr || to->numsinkpads == 0 ? nullptr : take_pad(to, "", GST_PAD_SINK, nullptr);
  if (input == nullptr) return "any stream";
  GstCaps* caps = gst_pad_query_caps(input, nullptr);
  std::string type = media_type(caps);
  gst_caps_unref(caps);
  give_back(to, input, false);
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
  gchar* wanted = awaited.caps == nullptr ? nullptr : gst_caps_to_string(awaited.caps);
  std::string expected = wanted != nullptr ? wanted : input_type(awaited.to);
  g_free(wanted);
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

// Elements that never say that they have all their pads: when their input has ended and they have dealt with that, no
// pad comes any more. Bins are left out: what is inside them may still be busy.
struct Ended {
  Share awaited;
  GstPad* input;  // owned
};
void on_dealt_with(GstElement* from, gpointer data) {
  auto* ended = static_cast<Ended*>(data);
  GST_PAD_STREAM_LOCK(ended->input);
  GST_PAD_STREAM_UNLOCK(ended->input);
  report_missing(from, *ended->awaited);
}
void free_ended(gpointer data) {
  auto* ended = static_cast<Ended*>(data);
  gst_object_unref(ended->input);
  delete ended;
}
GstPadProbeReturn on_input(GstPad* input, GstPadProbeInfo* info, gpointer data) {
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_EOS) return GST_PAD_PROBE_OK;
  GstElement* from = gst_pad_get_parent_element(input);
  if (from == nullptr) return GST_PAD_PROBE_OK;
  auto* ended = new Ended{*static_cast<Share*>(data), GST_PAD(gst_object_ref(input))};
  gst_element_call_async(from, on_dealt_with, ended, free_ended);
  gst_object_unref(from);
  return GST_PAD_PROBE_OK;
}
void watch_inputs(GstElement* from, const Share& awaited) {
  if (GST_IS_BIN(from)) return;
  GST_OBJECT_LOCK(from);
  for (GList* at = from->sinkpads; at != nullptr; at = at->next)
    gst_pad_add_probe(GST_PAD(at->data), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_input, new Share(awaited),
                      [](gpointer data) { delete static_cast<Share*>(data); });
  GST_OBJECT_UNLOCK(from);
}
void free_share(gpointer data, GClosure*) { delete static_cast<Share*>(data); }
}  // namespace

std::string link_elements(GstElement* from, const std::string& from_pad, GstElement* to, const std::string& to_pad,
                          const std::string& caps_text) {
  GstCaps* caps = nullptr;
  if (!caps_text.empty()) {
    caps = gst_caps_from_string(caps_text.c_str());
    if (caps == nullptr) return "\"" + caps_text + "\" are no caps";
  }
  GstPad* src = take_pad(from, from_pad, GST_PAD_SRC, nullptr);
  if (src == nullptr && appears_later(from)) {
    auto awaited = std::make_shared<Awaited>();
    awaited->from_pad = from_pad;
    awaited->to = to;
    g_object_add_weak_pointer(G_OBJECT(to), reinterpret_cast<gpointer*>(&awaited->to));
    awaited->to_pad = to_pad;
    awaited->caps = caps;
    auto connect = [&](const char* signal, GCallback callback) {
      g_signal_connect_data(from, signal, callback, new Share(awaited), free_share, static_cast<GConnectFlags>(0));
    };
    connect("pad-added", G_CALLBACK(on_pad));
    connect("pad-removed", G_CALLBACK(on_pad_gone));
    connect("no-more-pads", G_CALLBACK(on_all_pads));
    watch_inputs(from, awaited);
    return {};
  }
  if (caps != nullptr) gst_caps_unref(caps);
  if (src == nullptr) return name_of(from) + " has no free output" + (from_pad.empty() ? "" : " \"" + from_pad + "\"");
  GstPad* sink = take_pad(to, to_pad, GST_PAD_SINK, src);
  std::string error = sink == nullptr ? name_of(to) + " has no free input for " + caps_of(src) : link_pads(src, sink, from, to);
  give_back(from, src, error.empty());
  if (sink != nullptr) give_back(to, sink, error.empty());
  return error;
}
