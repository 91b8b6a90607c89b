// Forwards the log messages of GStreamer and GLib to one JavaScript function.
#include <gst/gst.h>

#include <atomic>
#include <mutex>

#include "addon.h"
#include "bridge.h"

namespace {
// More messages than this are counted and dropped while the JS thread is busy: logging must not block.
constexpr int kQueued = 1000;

struct Receiver {
  std::shared_ptr<Bridge> bridge;
  napi_ref function;
  std::atomic<int> queued{0};
  std::atomic<uint64_t> lost{0};
  ~Receiver() { bridge->retire(function); }
};
// Never destroyed: GStreamer's threads may log while the process exits.
auto& receiver_mutex = *new std::mutex;
auto& receiver = *new std::shared_ptr<Receiver>;

std::shared_ptr<Receiver> current_receiver() {
  std::lock_guard<std::mutex> lock(receiver_mutex);
  return receiver;
}

void forward(const char* level, std::string category, std::string text, std::string source) {
  auto to = current_receiver();
  if (!to) return;
  if (to->queued >= kQueued) {
    to->lost++;
    return;
  }
  to->queued++;
  bool posted = to->bridge->run([to, level, category = std::move(category), text = std::move(text), source = std::move(source)](Napi::Env env) {
    to->queued--;
    napi_value function = nullptr;
    napi_get_reference_value(env, to->function, &function);
    if (function == nullptr) return;
    auto entry = Napi::Object::New(env);
    entry.Set("level", level);
    entry.Set("category", category);
    entry.Set("message", text);
    entry.Set("source", source);
    entry.Set("lost", static_cast<double>(to->lost.exchange(0)));
    Napi::Function(env, function).Call({entry});
  });
  if (posted) return;
  std::lock_guard<std::mutex> lock(receiver_mutex);
  if (receiver == to) receiver.reset();  // its environment is closed
}

const char* level_name(GstDebugLevel level) {
  switch (level) {
    case GST_LEVEL_ERROR: return "error";
    case GST_LEVEL_WARNING: return "warn";
    case GST_LEVEL_FIXME:
    case GST_LEVEL_INFO: return "info";
    case GST_LEVEL_DEBUG: return "debug";
    default: return "trace";
  }
}
void on_gst_log(GstDebugCategory* category, GstDebugLevel level, const gchar*, const gchar*, gint, GObject* object,
                GstDebugMessage* message, gpointer) {
  if (level > gst_debug_category_get_threshold(category)) return;
  std::string source;
  if (object != nullptr && GST_IS_OBJECT(object) && GST_OBJECT_NAME(object) != nullptr) source = GST_OBJECT_NAME(object);
  const gchar* text = gst_debug_message_get(message);
  forward(level_name(level), gst_debug_category_get_name(category), text == nullptr ? "" : text, std::move(source));
}
void on_glib_log(const gchar* domain, GLogLevelFlags flags, const gchar* text, gpointer) {
  const char* level = (flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0 ? "error"
                      : (flags & G_LOG_LEVEL_WARNING) != 0                      ? "warn"
                      : (flags & (G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_INFO)) != 0 ? "info" : "debug";
  if (!current_receiver()) {
    g_log_default_handler(domain, flags, text, nullptr);
    return;
  }
  forward(level, domain == nullptr ? "glib" : domain, text == nullptr ? "" : text, {});
}

// onLog(function | null): the newest function receives all messages.
Napi::Value on_log(const Napi::CallbackInfo& info) {
  std::shared_ptr<Receiver> fresh;
  if (info[0].IsFunction()) {
    fresh = std::make_shared<Receiver>();
    fresh->bridge = Bridge::of(info.Env());
    napi_create_reference(info.Env(), info[0], 1, &fresh->function);
  }
  static std::once_flag once;
  std::call_once(once, [] {
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_add_log_function(on_gst_log, nullptr, nullptr);
    g_log_set_default_handler(on_glib_log, nullptr);
  });
  std::lock_guard<std::mutex> lock(receiver_mutex);
  receiver = fresh;
  return info.Env().Undefined();
}
// setLogLevels("2,rtspsrc:5"), in the format of GST_DEBUG
Napi::Value set_log_levels(const Napi::CallbackInfo& info) {
  gst_debug_set_active(TRUE);
  gst_debug_set_threshold_from_string(info[0].As<Napi::String>().Utf8Value().c_str(), TRUE);
  return info.Env().Undefined();
}
}  // namespace

void export_log(Napi::Env env, Napi::Object exports) {
  exports.Set("onLog", Napi::Function::New(env, on_log));
  exports.Set("setLogLevels", Napi::Function::New(env, set_log_levels));
}
