// Owning pointers and strings for GStreamer and GLib.
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
