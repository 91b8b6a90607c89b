// C++ on top of the C API of GStreamer and GLib: owning pointers, strings, callbacks, types.
#pragma once
#include <gst/gst.h>

#include <memory>
#include <string>

struct Unref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
  template <typename Object>
  void operator()(Object* object) const {
    gst_object_unref(object);
  }
};
template <typename T>
using Ref = std::unique_ptr<T, Unref>;

template <typename T>
Ref<T> new_ref(T* object) {
  return Ref<T>(static_cast<T*>(gst_object_ref(object)));
}

// Takes ownership; null becomes empty.
inline std::string take_text(gchar* text) {
  std::string out = text == nullptr ? "" : text;
  g_free(text);
  return out;
}
// Any thread: a copy, as an object can be renamed.
inline std::string name_of(gpointer object) { return object == nullptr ? "" : take_text(gst_object_get_name(GST_OBJECT(object))); }
inline std::string text_of(GstCaps* caps) { return take_text(gst_caps_to_string(caps)); }

// Destroy notifications of probes, callbacks and signal handlers that own their data.
template <typename T>
void delete_data(gpointer data) {
  delete static_cast<T*>(data);
}
template <typename T>
void delete_closure_data(gpointer data, GClosure*) {
  delete static_cast<T*>(data);
}
template <typename T>
void connect_owning(gpointer object, const char* signal, GCallback callback, T* data) {
  g_signal_connect_data(object, signal, callback, data, delete_closure_data<T>, static_cast<GConnectFlags>(0));
}

// The first pad template with this direction and presence, borrowed from the class, or null.
inline GstPadTemplate* find_template(GstElement* element, GstPadDirection direction, GstPadPresence presence) {
  for (GList* at = gst_element_class_get_pad_template_list(GST_ELEMENT_GET_CLASS(element)); at != nullptr; at = at->next) {
    auto* found = GST_PAD_TEMPLATE(at->data);
    if (GST_PAD_TEMPLATE_DIRECTION(found) == direction && GST_PAD_TEMPLATE_PRESENCE(found) == presence) return found;
  }
  return nullptr;
}

// For class_init of elements with one input and, unless `sink_only`, one output.
inline void add_pad_templates(GstElementClass* klass, const char* caps_text, bool sink_only = false) {
  Ref<GstCaps> caps(gst_caps_from_string(caps_text));
  gst_element_class_add_pad_template(klass, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps.get()));
  if (!sink_only) gst_element_class_add_pad_template(klass, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps.get()));
}

// A type whose class is that of its parent.
template <typename Instance>
GType register_type(GType parent, const char* name, GClassInitFunc class_init, GInstanceInitFunc instance_init,
                    gconstpointer class_data = nullptr) {
  GTypeQuery parent_info;
  g_type_query(parent, &parent_info);
  GTypeInfo info = {};
  info.class_size = static_cast<guint16>(parent_info.class_size);
  info.class_init = class_init;
  info.class_data = class_data;
  info.instance_size = sizeof(Instance);
  info.instance_init = instance_init;
  return g_type_register_static(parent, name, &info, static_cast<GTypeFlags>(0));
}
