#include "pad_link.h"

#include <memory>
#include <mutex>

#include "input_size.h"

namespace {
std::string element_name(GstElement* element) {
  gchar* name = gst_element_get_name(element);
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

// An owned pad or null: by name, by request template, else the first free one, else one that can be requested.
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
bool appears_later(GstElement* element) {
  for (GList* at = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element)); at != nullptr; at = at->next) {
    auto* pad_template = GST_PAD_TEMPLATE(at->data);
    if (GST_PAD_TEMPLATE_DIRECTION(pad_template) == GST_PAD_SRC && GST_PAD_TEMPLATE_PRESENCE(pad_template) == GST_PAD_SOMETIMES)
      return true;
  }
  return false;
}

std::string link_pads(GstPad* src, GstPad* sink, GstElement* from, GstElement* to) {
  GstPadLinkReturn result = gst_pad_link(src, sink);
  if (result == GST_PAD_LINK_OK) {
    announce_input_size(src);
    return {};
  }
  return "cannot link " + element_name(from) + " to " + element_name(to) + ": " + gst_pad_link_get_name(result) + " (" +
         element_name(from) + " gives " + caps_of(src) + "; " + element_name(to) + " takes " + caps_of(sink) + ")";
}

// Pads that were requested and did not come to be linked would stay on their element.
void give_back(GstElement* element, GstPad* pad, bool linked) {
  GstPadTemplate* pad_template = linked ? nullptr : gst_pad_get_pad_template(pad);
  if (pad_template != nullptr && GST_PAD_TEMPLATE_PRESENCE(pad_template) == GST_PAD_REQUEST) gst_element_release_request_pad(element, pad);
  if (pad_template != nullptr) gst_object_unref(pad_template);
  gst_object_unref(pad);
}

// A link that waits for its pad. Owned by the signal connections of `from`; streaming threads.
struct Awaited {
  GstElement* to;  // weak: both live in one bin
  std::string to_pad;
  GstCaps* caps;  // null: any
  std::mutex mutex;  // guards what follows
  GstPad* linked = nullptr;  // only ever compared
  std::string seen;
  ~Awaited() {
    if (to != nullptr) g_object_remove_weak_pointer(G_OBJECT(to), reinterpret_cast<gpointer*>(&to));
    if (caps != nullptr) gst_caps_unref(caps);
  }
};

void on_pad(GstElement* from, GstPad* pad, gpointer data) {
  auto* awaited = static_cast<std::shared_ptr<Awaited>*>(data)->get();
  if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC || awaited->to == nullptr) return;
  std::lock_guard<std::mutex> lock(awaited->mutex);
  GstCaps* caps = gst_pad_get_current_caps(pad);
  if (caps == nullptr) caps = gst_pad_query_caps(pad, nullptr);
  bool fits = awaited->caps == nullptr || gst_caps_can_intersect(caps, awaited->caps);
  if (awaited->seen.size() < 200 && !gst_caps_is_empty(caps) && !gst_caps_is_any(caps))
    awaited->seen += std::string(awaited->seen.empty() ? "" : ", ") + gst_structure_get_name(gst_caps_get_structure(caps, 0));
  gst_caps_unref(caps);
  if (!fits || awaited->linked != nullptr) return;
  GstPad* sink = take_pad(awaited->to, awaited->to_pad, GST_PAD_SINK, pad);
  std::string error = sink == nullptr ? element_name(awaited->to) + " has no free input" : link_pads(pad, sink, from, awaited->to);
  if (sink != nullptr) give_back(awaited->to, sink, error.empty());
  if (error.empty()) awaited->linked = pad;
  else GST_ELEMENT_ERROR(from, STREAM, FORMAT, ("%s", error.c_str()), (nullptr));
}
// Back to READY its pads go; when it plays again, others come.
void on_pad_gone(GstElement*, GstPad* pad, gpointer data) {
  auto* awaited = static_cast<std::shared_ptr<Awaited>*>(data)->get();
  std::lock_guard<std::mutex> lock(awaited->mutex);
  if (awaited->linked == pad) awaited->linked = nullptr;
  awaited->seen.clear();
}
void on_all_pads(GstElement* from, gpointer data) {
  auto* awaited = static_cast<std::shared_ptr<Awaited>*>(data)->get();
  std::lock_guard<std::mutex> lock(awaited->mutex);
  if (awaited->linked != nullptr) return;
  gchar* wanted = awaited->caps == nullptr ? g_strdup("any stream") : gst_caps_to_string(awaited->caps);
  std::string seen = awaited->seen.empty() ? "nothing" : awaited->seen;
  GST_ELEMENT_ERROR(from, STREAM, WRONG_TYPE, ("no stream that fits: expected %s, found %s", wanted, seen.c_str()), (nullptr));
  g_free(wanted);
}
void free_share(gpointer data, GClosure*) { delete static_cast<std::shared_ptr<Awaited>*>(data); }
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
    awaited->to = to;
    g_object_add_weak_pointer(G_OBJECT(to), reinterpret_cast<gpointer*>(&awaited->to));
    awaited->to_pad = to_pad;
    awaited->caps = caps;
    auto connect = [&](const char* signal, GCallback callback) {
      g_signal_connect_data(from, signal, callback, new std::shared_ptr<Awaited>(awaited), free_share, static_cast<GConnectFlags>(0));
    };
    connect("pad-added", G_CALLBACK(on_pad));
    connect("pad-removed", G_CALLBACK(on_pad_gone));
    connect("no-more-pads", G_CALLBACK(on_all_pads));
    return {};
  }
  if (caps != nullptr) gst_caps_unref(caps);
  if (src == nullptr) return element_name(from) + " has no free output";
  GstPad* sink = take_pad(to, to_pad, GST_PAD_SINK, src);
  std::string error = sink == nullptr ? element_name(to) + " has no free input for " + caps_of(src) : link_pads(src, sink, from, to);
  give_back(from, src, error.empty());
  if (sink != nullptr) give_back(to, sink, error.empty());
  return error;
}
