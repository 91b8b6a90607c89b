// The hosts that GIO may connect to. A server's answer can name other hosts (RTSP: `Location`, `a=control`, `source`), and
// elements follow it; every TCP connection of GStreamer's sources passes through the resolvers below. Applies to the whole
// process; no restriction until the first `allowConnections`.
#include <gio/gio.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "addon.h"
#include "gst_cpp.h"

namespace {
using Addresses = std::vector<std::string>;

// Any thread, under the mutex. Null: all hosts are allowed. A host without addresses is resolved by DNS.
std::mutex mutex;
std::map<std::string, Addresses>* allowed = nullptr;

std::string lower(const std::string& text) { return take_text(g_ascii_strdown(text.c_str(), -1)); }

struct Access {
  bool is_allowed;
  Addresses pinned;  // the addresses that were checked; empty: DNS decides
};
Access look_up(const char* host) {
  std::lock_guard<std::mutex> lock(mutex);
  if (allowed == nullptr) return {true, {}};
  auto found = host == nullptr ? allowed->end() : allowed->find(lower(host));
  return found == allowed->end() ? Access{false, {}} : Access{true, found->second};
}

// Logged as well: elements report that they could not connect, but not why.
void reject(const char* host, GError** error) {
  g_log("windhover", G_LOG_LEVEL_WARNING, "connection rejected: the source redirects to host %s, which is not allowed", host);
  g_set_error(error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED, "the source redirects to host %s, which is not allowed", host);
}

// GIO asks for a proxy before each connection: the answer is "direct", or an error.
gchar** find_route(const gchar* uri, GError** error) {
  GSocketConnectable* address = g_network_address_parse_uri(uri, 0, nullptr);
  const gchar* host = address == nullptr ? nullptr : g_network_address_get_hostname(G_NETWORK_ADDRESS(address));
  const bool may = look_up(host).is_allowed;
  if (!may) reject(host == nullptr ? "(unreadable)" : host, error);
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

// A checked name resolves to the checked addresses, whatever DNS answers now.
GList* list_pinned(const Addresses& pinned, GResolverNameLookupFlags flags) {
  GList* out = nullptr;
  for (const auto& text : pinned) {
    GInetAddress* address = g_inet_address_new_from_string(text.c_str());
    if (address == nullptr) continue;
    const bool is_v4 = g_inet_address_get_family(address) == G_SOCKET_FAMILY_IPV4;
    const auto excluded = is_v4 ? G_RESOLVER_NAME_LOOKUP_FLAGS_IPV6_ONLY : G_RESOLVER_NAME_LOOKUP_FLAGS_IPV4_ONLY;
    if ((flags & excluded) == 0) out = g_list_append(out, address);
    else g_object_unref(address);
  }
  return out;
}

GList* resolve(GResolver* usual, const gchar* host, GResolverNameLookupFlags flags, GCancellable* cancellable, GError** error) {
  const Access access = look_up(host);
  if (!access.is_allowed) {
    reject(host, error);
    return nullptr;
  }
  if (access.pinned.empty()) return g_resolver_lookup_by_name_with_flags(usual, host, flags, cancellable, error);
  GList* found = list_pinned(access.pinned, flags);
  if (found == nullptr) g_set_error(error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "no allowed address of %s", host);
  return found;
}

struct Resolver {
  GResolver parent;
};
struct ResolverClass {
  GResolverClass parent;
};
// Owned by the process, never freed.
GResolver* usual_resolver = nullptr;

struct Question {
  std::string host;
  GResolverNameLookupFlags flags;
};

void free_addresses(gpointer list) { g_resolver_free_addresses(static_cast<GList*>(list)); }

void resolve_async(GResolver* self, const gchar* host, GResolverNameLookupFlags flags, GCancellable* cancellable,
               GAsyncReadyCallback ready, gpointer data) {
  GTask* task = g_task_new(self, cancellable, ready, data);
  g_task_set_task_data(task, new Question{host, flags}, delete_data<Question>);
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
    resolve_async(self, host, G_RESOLVER_NAME_LOOKUP_FLAGS_DEFAULT, cancellable, ready, data);
  };
  parent->lookup_by_name_with_flags_async = resolve_async;
  parent->lookup_by_name_finish = finish;
  parent->lookup_by_name_with_flags_finish = finish;
}

void install() {
  // Overrides a resolver named by the environment.
  g_setenv("GIO_USE_PROXY_RESOLVER", "windhover", TRUE);
  // Loads the modules of this extension point first.
  g_io_extension_point_register(G_PROXY_RESOLVER_EXTENSION_POINT_NAME);
  g_io_extension_point_implement(G_PROXY_RESOLVER_EXTENSION_POINT_NAME, route_get_type(), "windhover", 1000);
  usual_resolver = g_resolver_get_default();
  auto* resolver = static_cast<GResolver*>(g_object_new(resolver_get_type(), nullptr));
  g_resolver_set_default(resolver);
  g_object_unref(resolver);
}

// allowConnections([{host, addresses}]): replaces the list of allowed hosts
Napi::Value allow_connections(const Napi::CallbackInfo& info) {
  static std::once_flag once;
  std::call_once(once, install);
  auto given = info[0].As<Napi::Array>();
  auto fresh = std::make_unique<std::map<std::string, Addresses>>();
  for (uint32_t i = 0; i < given.Length(); i++) {
    auto entry = given.Get(i).As<Napi::Object>();
    auto addresses = entry.Get("addresses").As<Napi::Array>();
    Addresses& into = (*fresh)[lower(entry.Get("host").As<Napi::String>().Utf8Value())];
    for (uint32_t at = 0; at < addresses.Length(); at++) into.push_back(addresses.Get(at).As<Napi::String>().Utf8Value());
  }
  std::lock_guard<std::mutex> lock(mutex);
  delete allowed;
  allowed = fresh.release();
  return info.Env().Undefined();
}

// Inside rtspsrc a UDP sink sends to the address that the server named (`source` of `Transport`).
void on_sink_added(GstBin*, GstElement* element, gpointer) {
  if (g_signal_lookup("clear", G_OBJECT_TYPE(element)) == 0) return;
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "host") == nullptr) return;
  gchar* value = nullptr;
  g_object_get(element, "host", &value, nullptr);
  const std::string host = lower(take_text(value));
  const bool may = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    return allowed == nullptr || std::any_of(allowed->begin(), allowed->end(), [&](const auto& entry) {
      const auto& [name, addresses] = entry;
      return name == host || std::find(addresses.begin(), addresses.end(), host) != addresses.end();
    });
  }();
  if (!may) g_signal_emit_by_name(element, "clear");
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
