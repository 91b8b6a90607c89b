// Which hosts GIO connects to. What a server answers can name other hosts (RTSP: `Location`, `a=control`, `source`), and
// elements follow: here is the one place that every TCP connection of GStreamer's sources passes. Off until the first
// `allowConnections`; of the whole process.
#include "connections.h"

#include <gio/gio.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "addon.h"

namespace {
using Addresses = std::vector<std::string>;

// Any thread, under the mutex. Null: everything is allowed. An empty list of addresses: the resolver is asked.
std::mutex mutex;
std::map<std::string, Addresses>* allowed = nullptr;

std::string lower(const char* text) {
  gchar* folded = g_ascii_strdown(text, -1);
  std::string out(folded);
  g_free(folded);
  return out;
}

bool is_allowed(const char* host) {
  std::lock_guard<std::mutex> lock(mutex);
  return allowed == nullptr || (host != nullptr && allowed->count(lower(host)) > 0);
}

// Logged as well: elements tell that they could not connect, and not why.
void reject(const char* host, GError** error) {
  g_log("windhover", G_LOG_LEVEL_WARNING, "connection rejected: the source leads to another host (%s), which was not checked", host);
  g_set_error(error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED, "the source leads to another host (%s), which was not checked", host);
}

// GIO asks for a proxy before it connects anywhere; the answer is "none", or that there is no way.
gchar** find_route(const gchar* uri, GError** error) {
  GSocketConnectable* address = g_network_address_parse_uri(uri, 0, nullptr);
  const gchar* host = address == nullptr ? nullptr : g_network_address_get_hostname(G_NETWORK_ADDRESS(address));
  bool may = is_allowed(host);
  if (!may) reject(host == nullptr ? "unreadable" : host, error);
  g_clear_object(&address);
  if (!may) return nullptr;
  const gchar* direct[] = {"direct://", nullptr};
  return g_strdupv(const_cast<gchar**>(direct));
}

struct Route {
  GObject parent;
};
struct RouteClass {
  GObjectClass parent;
};

void route_interface(GProxyResolverInterface* interface) {
  interface->is_supported = [](GProxyResolver*) -> gboolean { return TRUE; };
  interface->lookup = [](GProxyResolver*, const gchar* uri, GCancellable*, GError** error) { return find_route(uri, error); };
  interface->lookup_async = [](GProxyResolver* self, const gchar* uri, GCancellable* cancellable, GAsyncReadyCallback ready,
                               gpointer data) {
    GTask* task = g_task_new(self, cancellable, ready, data);
    GError* error = nullptr;
    gchar** route = find_route(uri, &error);
    if (route == nullptr) g_task_return_error(task, error);
    else g_task_return_pointer(task, route, reinterpret_cast<GDestroyNotify>(g_strfreev));
    g_object_unref(task);
  };
  interface->lookup_finish = [](GProxyResolver*, GAsyncResult* result, GError** error) {
    return static_cast<gchar**>(g_task_propagate_pointer(G_TASK(result), error));
  };
}

G_DEFINE_TYPE_WITH_CODE(Route, route, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE(G_TYPE_PROXY_RESOLVER, route_interface))
void route_init(Route*) {}
void route_class_init(RouteClass*) {}

// A name that was checked stands for the addresses that were checked, whatever it means by now.
GList* find_pinned(const gchar* host, GResolverNameLookupFlags flags) {
  std::lock_guard<std::mutex> lock(mutex);
  if (allowed == nullptr) return nullptr;
  auto found = allowed->find(lower(host));
  if (found == allowed->end()) return nullptr;
  GList* out = nullptr;
  for (const auto& text : found->second) {
    GInetAddress* address = g_inet_address_new_from_string(text.c_str());
    if (address == nullptr) continue;
    bool is_v4 = g_inet_address_get_family(address) == G_SOCKET_FAMILY_IPV4;
    bool fits = !(is_v4 ? (flags & G_RESOLVER_NAME_LOOKUP_FLAGS_IPV6_ONLY) : (flags & G_RESOLVER_NAME_LOOKUP_FLAGS_IPV4_ONLY));
    if (fits) out = g_list_append(out, address);
    else g_object_unref(address);
  }
  return out;
}

bool is_pinned(const gchar* host) {
  std::lock_guard<std::mutex> lock(mutex);
  if (allowed == nullptr) return false;
  auto found = allowed->find(lower(host));
  return found != allowed->end() && !found->second.empty();
}

GList* resolve(GResolver* usual, const gchar* host, GResolverNameLookupFlags flags, GCancellable* cancellable, GError** error) {
  if (!is_allowed(host)) {
    reject(host, error);
    return nullptr;
  }
  if (!is_pinned(host)) return g_resolver_lookup_by_name_with_flags(usual, host, flags, cancellable, error);
  GList* found = find_pinned(host, flags);
  if (found == nullptr) g_set_error(error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "no address of %s was checked", host);
  return found;
}

struct Resolver {
  GResolver parent;
};
struct ResolverClass {
  GResolverClass parent;
};
// Owned by the process for good.
GResolver* usual_resolver = nullptr;

struct Question {
  std::string host;
  GResolverNameLookupFlags flags;
};

void free_addresses(gpointer list) { g_resolver_free_addresses(static_cast<GList*>(list)); }

void ask_later(GResolver* self, const gchar* host, GResolverNameLookupFlags flags, GCancellable* cancellable,
               GAsyncReadyCallback ready, gpointer data) {
  GTask* task = g_task_new(self, cancellable, ready, data);
  g_task_set_task_data(task, new Question{host, flags}, [](gpointer question) { delete static_cast<Question*>(question); });
  g_task_run_in_thread(task, [](GTask* running, gpointer, gpointer given, GCancellable* cancelled) {
    auto* question = static_cast<Question*>(given);
    GError* error = nullptr;
    GList* found = resolve(usual_resolver, question->host.c_str(), question->flags, cancelled, &error);
    if (error != nullptr) g_task_return_error(running, error);
    else g_task_return_pointer(running, found, free_addresses);
  });
  g_object_unref(task);
}

GList* finish(GResolver*, GAsyncResult* result, GError** error) {
  return static_cast<GList*>(g_task_propagate_pointer(G_TASK(result), error));
}

G_DEFINE_TYPE(Resolver, resolver, G_TYPE_RESOLVER)
void resolver_init(Resolver*) {}
void resolver_class_init(ResolverClass* klass) {
  GResolverClass* parent = &klass->parent;
  parent->lookup_by_name = [](GResolver*, const gchar* host, GCancellable* cancellable, GError** error) {
    return resolve(usual_resolver, host, G_RESOLVER_NAME_LOOKUP_FLAGS_DEFAULT, cancellable, error);
  };
  parent->lookup_by_name_with_flags = [](GResolver*, const gchar* host, GResolverNameLookupFlags flags, GCancellable* cancellable,
                                         GError** error) { return resolve(usual_resolver, host, flags, cancellable, error); };
  parent->lookup_by_name_async = [](GResolver* self, const gchar* host, GCancellable* cancellable, GAsyncReadyCallback ready,
                                    gpointer data) {
    ask_later(self, host, G_RESOLVER_NAME_LOOKUP_FLAGS_DEFAULT, cancellable, ready, data);
  };
  parent->lookup_by_name_with_flags_async = ask_later;
  parent->lookup_by_name_finish = finish;
  parent->lookup_by_name_with_flags_finish = finish;
}

void install() {
  // An environment that names another one must not win over ours.
  g_setenv("GIO_USE_PROXY_RESOLVER", "windhover", TRUE);
  // Loads the modules, whose extension point this is.
  g_io_extension_point_register(G_PROXY_RESOLVER_EXTENSION_POINT_NAME);
  g_io_extension_point_implement(G_PROXY_RESOLVER_EXTENSION_POINT_NAME, route_get_type(), "windhover", 1000);
  usual_resolver = g_resolver_get_default();
  auto* resolver = static_cast<GResolver*>(g_object_new(resolver_get_type(), nullptr));
  g_resolver_set_default(resolver);
  g_object_unref(resolver);
}

// allowConnections([{host, addresses}]): from now on these and no others.
Napi::Value allow_connections(const Napi::CallbackInfo& info) {
  static std::once_flag once;
  std::call_once(once, install);
  auto given = info[0].As<Napi::Array>();
  auto fresh = std::make_unique<std::map<std::string, Addresses>>();
  for (uint32_t i = 0; i < given.Length(); i++) {
    auto entry = given.Get(i).As<Napi::Object>();
    auto addresses = entry.Get("addresses").As<Napi::Array>();
    Addresses& into = (*fresh)[lower(entry.Get("host").As<Napi::String>().Utf8Value().c_str())];
    for (uint32_t at = 0; at < addresses.Length(); at++) into.push_back(addresses.Get(at).As<Napi::String>().Utf8Value());
  }
  std::lock_guard<std::mutex> lock(mutex);
  delete allowed;
  allowed = fresh.release();
  return info.Env().Undefined();
}

// The address of a UDP sink inside rtspsrc is what the server said (`source` of `Transport`).
void on_sink_added(GstBin*, GstElement* element, gpointer) {
  if (g_signal_lookup("clear", G_OBJECT_TYPE(element)) == 0) return;
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "host") == nullptr) return;
  gchar* host = nullptr;
  g_object_get(element, "host", &host, nullptr);
  bool may = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    if (allowed == nullptr) return true;
    std::string wanted = host == nullptr ? "" : lower(host);
    return std::any_of(allowed->begin(), allowed->end(), [&](const auto& entry) {
      const auto& [name, addresses] = entry;
      return name == wanted || std::find(addresses.begin(), addresses.end(), wanted) != addresses.end();
    });
  }();
  if (!may) g_signal_emit_by_name(element, "clear");
  g_free(host);
}
}  // namespace

void guard_datagrams(GstElement* element) {
  GstElementFactory* factory = gst_element_get_factory(element);
  if (factory == nullptr || !GST_IS_BIN(element) || g_strcmp0(GST_OBJECT_NAME(factory), "rtspsrc") != 0) return;
  g_signal_connect(element, "element-added", G_CALLBACK(on_sink_added), nullptr);
}

void export_connections(Napi::Env env, Napi::Object exports) {
  exports.Set("allowConnections", Napi::Function::New(env, allow_connections));
}
