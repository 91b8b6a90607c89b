// SRT sockets (libsrt, live mode) for the media hub and for outputs. All sockets are non-blocking. One thread waits for
// events (`srt_epoll`) and wakes JavaScript, which then receives, sends and accepts on its own thread. Queues are those of
// libsrt, which are bounded: what is not received in time is dropped there.
//
// A listener asks JavaScript about each caller before the handshake ends, so that the caller gets a rejection code. The
// answer is waited for on libsrt's receive thread, which serves all connections of the port: waits have a time budget that
// is far below the latency of a connection. A caller without an answer by then is accepted, and closed if the answer is no.
#include <arpa/inet.h>
#include <napi.h>
#include <netinet/in.h>
#include <srt/access_control.h>
#include <srt/srt.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// Seven TS packets: the payload that SRT peers expect in live mode.
constexpr int kPayloadBytes = 1316;
constexpr int kMaxMessageBytes = 1500;
constexpr size_t kReceiveBytes = 256 * 1024;
constexpr int kEvents = 64;
constexpr int kPollMs = 250;
// From the end of a handshake until the connection can be accepted, at most.
constexpr std::chrono::seconds kAccept{10};
// The budget of waits for answers: this much per second, and at once. The smallest latency is 120 ms.
constexpr double kWaitMs = 60;
constexpr size_t kMaxCallers = 256;
constexpr size_t kMaxRejections = 4096;
// Of each connection: two seconds of 20 Mbit/s.
constexpr int kReceiveBufferBytes = 5'000'000;
constexpr int kBacklog = 64;
constexpr int kLogCritical = 2;

struct Caller {
  SRTSOCKET socket;
  std::string address;
  std::string stream_id;
};

struct Rejection {
  int code;
  Clock::time_point until;
};

std::string print_address(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  }
  return text;
}

struct Address {
  sockaddr_storage storage{};
  int length = 0;
};

// What the threads share. Owned by the JavaScript object and by its thread.
class Core {
 public:
  explicit Core(Napi::ThreadSafeFunction wake) : wake_(wake), epoll_(srt_epoll_create()) {}

  int epoll() const { return epoll_; }

  void watch_listener(SRTSOCKET socket) {
    const int events = SRT_EPOLL_IN | SRT_EPOLL_OUT | SRT_EPOLL_ERR | static_cast<int>(SRT_EPOLL_ET);
    srt_epoll_add_usock(epoll_, socket, &events);
  }
  void watch_connection(SRTSOCKET socket) {
    watch_listener(socket);
    std::lock_guard<std::mutex> lock(mutex_);
    connections_.insert(socket);
    needed_.notify_all();
  }

  // The thread of this object.
  void run() {
    SRT_EPOLL_EVENT events[kEvents];
    while (!is_closing_) {
      const int count = srt_epoll_uwait(epoll_, events, kEvents, wait_until_needed() ? kPollMs : 0);
      if (count > 0) {
        std::lock_guard<std::mutex> lock(mutex_);
        // As many as there are sockets at most.
        for (int i = 0; i < std::min(count, kEvents); i++) ready_[events[i].fd] |= events[i].events;
      } else if (count < 0 && !is_closing_) {
        // Without any socket libsrt reports an error at once.
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs / 10));
      }
      if (count > 0) signal();
    }
    srt_epoll_release(epoll_);
  }

  // No thread wakes JavaScript afterwards, except the thread of this object until it has ended.
  void stop() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_closing_ = true;
    decided_.notify_all();
    needed_.notify_all();
  }

  // A thread of libsrt, for each handshake. Returns 0, or -1 with the reason set.
  int judge(SRTSOCKET socket, const sockaddr* peer, const char* stream_id) {
    Caller caller{socket, print_address(peer), stream_id == nullptr ? "" : stream_id};
    const std::string key = caller.address + '\n' + caller.stream_id;
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_closing_) return reject(socket, SRT_REJX_DOWN);
    const auto known = rejections_.find(key);
    if (known != rejections_.end() && Clock::now() < known->second.until) return reject(socket, known->second.code);
    if (callers_.size() >= kMaxCallers) return reject(socket, SRT_REJX_OVERLOAD);
    callers_.push_back(std::move(caller));
    verdicts_[socket] = kUndecided;
    accept_until_ = Clock::now() + kAccept;
    needed_.notify_all();
    signal();
    const auto begin = Clock::now();
    budget_ms_ = std::min(kWaitMs, budget_ms_ + kWaitMs * Milliseconds(begin - budget_at_).count() / 1000);
    decided_.wait_for(lock, Milliseconds(std::max(budget_ms_, 0.0)),
                      [&] { return is_closing_ || verdicts_[socket] != kUndecided; });
    budget_at_ = Clock::now();
    budget_ms_ -= Milliseconds(budget_at_ - begin).count();
    const int verdict = verdicts_[socket];
    verdicts_.erase(socket);
    if (verdict > 0) return reject(socket, verdict);
    return is_closing_ ? reject(socket, SRT_REJX_DOWN) : 0;
  }

  // On JavaScript's thread, when the thread of this object has ended.
  void release() { wake_.Release(); }

  // False: the handshake has ended without this answer.
  bool decide(SRTSOCKET socket, int code, const std::string& key, double seconds) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (code > 0 && seconds > 0) {
      if (rejections_.size() >= kMaxRejections) rejections_.clear();
      const auto time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
      rejections_[key] = {code, Clock::now() + time};
    }
    const auto waiting = verdicts_.find(socket);
    if (waiting == verdicts_.end()) return false;
    waiting->second = code;
    decided_.notify_all();
    return true;
  }

  void take(std::unordered_map<SRTSOCKET, int>* ready, std::vector<Caller>* callers) {
    std::lock_guard<std::mutex> lock(mutex_);
    is_signalled_ = false;
    ready->swap(ready_);
    callers->swap(callers_);
  }

  void forget(SRTSOCKET socket) {
    std::lock_guard<std::mutex> lock(mutex_);
    ready_.erase(socket);
    connections_.erase(socket);
  }

 private:
  static constexpr int kUndecided = -1;

  static int reject(SRTSOCKET socket, int code) {
    srt_setrejectreason(socket, code);
    return -1;
  }

  // While libsrt waits for events, it wakes a hundred times a second. Without connections there are none, up to a handshake.
  bool wait_until_needed() {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto is_needed = [&] { return is_closing_ || !connections_.empty() || Clock::now() < accept_until_; };
    return needed_.wait_for(lock, std::chrono::milliseconds(kPollMs), is_needed);
  }

  void signal() {
    if (!is_signalled_.exchange(true)) wake_.NonBlockingCall();
  }

  Napi::ThreadSafeFunction wake_;
  const int epoll_;
  std::mutex mutex_;
  std::condition_variable decided_;
  std::condition_variable needed_;
  std::set<SRTSOCKET> connections_;
  Clock::time_point accept_until_{};
  std::atomic<bool> is_closing_{false};
  std::atomic<bool> is_signalled_{false};
  std::unordered_map<SRTSOCKET, int> ready_;
  std::vector<Caller> callers_;
  // Of handshakes in progress: `kUndecided`, 0 to accept, or a rejection code.
  std::map<SRTSOCKET, int> verdicts_;
  std::unordered_map<std::string, Rejection> rejections_;
  double budget_ms_ = kWaitMs;
  Clock::time_point budget_at_ = Clock::now();
};

class Sockets;

// All open sockets, with their owners. libsrt (1.5.1) must not end while it has some: its clean-up holds a lock that a
// handshake in progress waits for, and waits for the handshake. `srt_close` does not.
class OpenSockets {
 public:
  void add(SRTSOCKET socket, const Sockets* owner) {
    std::lock_guard<std::mutex> lock(mutex_);
    owners_[socket] = owner;
  }

  void remove(SRTSOCKET socket) {
    std::lock_guard<std::mutex> lock(mutex_);
    owners_.erase(socket);
  }

  // Null: of all owners.
  void close(const Sockets* owner) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = owners_.begin(); at != owners_.end();) {
      const bool is_meant = owner == nullptr || at->second == owner;
      if (is_meant) srt_close(at->first);
      at = is_meant ? owners_.erase(at) : std::next(at);
    }
  }

 private:
  std::mutex mutex_;
  std::map<SRTSOCKET, const Sockets*> owners_;
};

// Never destroyed: used while the process exits.
OpenSockets& open_sockets() {
  static auto* const all = new OpenSockets();
  return *all;
}

void close_all() { open_sockets().close(nullptr); }

int on_caller(void* opaque, SRTSOCKET socket, int, const sockaddr* peer, const char* stream_id) {
  return static_cast<Core*>(opaque)->judge(socket, peer, stream_id);
}

std::string last_error() {
  const char* text = srt_getlasterror_str();
  return text == nullptr ? "unknown error" : text;
}

[[noreturn]] void fail(Napi::Env env, const std::string& message) { throw Napi::Error::New(env, message); }

void set_flag(Napi::Env env, SRTSOCKET socket, SRT_SOCKOPT option, const void* value, int bytes, const char* name) {
  if (srt_setsockflag(socket, option, value, bytes) == 0) return;
  const std::string error = last_error();
  srt_close(socket);
  fail(env, std::string("SRT does not accept the ") + name + ": " + error);
}

std::string text_of(const Napi::Object& options, const char* name) {
  const Napi::Value value = options.Get(name);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
}

int number_of(const Napi::Object& options, const char* name) {
  const Napi::Value value = options.Get(name);
  return value.IsNumber() ? value.As<Napi::Number>().Int32Value() : 0;
}

class Sockets : public Napi::ObjectWrap<Sockets> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Sockets",
                       {
                           InstanceMethod<&Sockets::listen>("listen"),
                           InstanceMethod<&Sockets::connect>("connect"),
                           InstanceMethod<&Sockets::take>("take"),
                           InstanceMethod<&Sockets::decide>("decide"),
                           InstanceMethod<&Sockets::accept>("accept"),
                           InstanceMethod<&Sockets::receive>("receive"),
                           InstanceMethod<&Sockets::send>("send"),
                           InstanceMethod<&Sockets::state>("state"),
                           InstanceMethod<&Sockets::stats>("stats"),
                           InstanceMethod<&Sockets::close>("close"),
                           InstanceMethod<&Sockets::stop>("stop"),
                       });
  }

  // new Sockets(onReady): `onReady` is called without arguments when `take` has something.
  explicit Sockets(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Sockets>(info), received_(kReceiveBytes) {
    if (info.Length() < 1 || !info[0].IsFunction()) throw Napi::TypeError::New(info.Env(), "expected a function");
    if (srt_startup() < 0) fail(info.Env(), "SRT cannot be started: " + last_error());
    // For `process.exit`, which runs no hook of Node. Registered after libsrt's own, it runs before it.
    [[maybe_unused]] static const int registered = std::atexit(close_all);
    srt_setloglevel(kLogCritical);
    auto wake = Napi::ThreadSafeFunction::New(info.Env(), info[0].As<Napi::Function>(), "srt", 0, 1);
    wake.Unref(info.Env());
    core_ = std::make_shared<Core>(wake);
    thread_ = std::thread([core = core_] { core->run(); });
    // Hooks run in reverse order: the thread ends before Node finalizes the function that it calls. In the destructor it
    // would be too late when Node exits with sockets open.
    napi_add_env_cleanup_hook(info.Env(), on_exit, this);
  }

  ~Sockets() override { end(); }

 private:
  // listen({ host, port, latencyMs, passphrase }) -> { socket, port }. Throws.
  Napi::Value listen(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    const auto options = info[0].As<Napi::Object>();
    auto [address, length] = address_of(env, options);
    const SRTSOCKET socket = open_socket(env, options);
    if (address.ss_family == AF_INET6) {
      const int no = 0;
      srt_setsockflag(socket, SRTO_IPV6ONLY, &no, sizeof no);
    }
    const bool is_listening = srt_bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                              srt_listen_callback(socket, on_caller, core_.get()) == 0 &&
                              srt_listen(socket, kBacklog) == 0 &&
                              srt_getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    if (!is_listening) {
      const std::string error = last_error();
      srt_close(socket);
      fail(env, error);
    }
    open_sockets().add(socket, this);
    core_->watch_listener(socket);
    auto result = Napi::Object::New(env);
    result.Set("socket", socket);
    result.Set("port", ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                                           : reinterpret_cast<sockaddr_in&>(address).sin_port));
    return result;
  }

  // connect({ host, port, latencyMs, passphrase, streamId, timeoutMs }) -> socket, which is connecting. Throws.
  Napi::Value connect(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    const auto options = info[0].As<Napi::Object>();
    auto [address, length] = address_of(env, options);
    const SRTSOCKET socket = open_socket(env, options);
    const std::string stream_id = text_of(options, "streamId");
    if (!stream_id.empty())
      set_flag(env, socket, SRTO_STREAMID, stream_id.data(), static_cast<int>(stream_id.size()), "stream id");
    const int timeout_ms = number_of(options, "timeoutMs");
    if (timeout_ms > 0) set_flag(env, socket, SRTO_CONNTIMEO, &timeout_ms, sizeof timeout_ms, "time limit");
    core_->watch_connection(socket);
    if (srt_connect(socket, reinterpret_cast<sockaddr*>(&address), length) == SRT_ERROR) {
      const std::string error = last_error();
      srt_close(socket);
      core_->forget(socket);
      fail(env, error);
    }
    open_sockets().add(socket, this);
    return Napi::Number::New(env, socket);
  }

  // take() -> { ready: socket[], callers: { socket, address, streamId }[] }: since the last call.
  Napi::Value take(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    std::unordered_map<SRTSOCKET, int> ready;
    std::vector<Caller> callers;
    core_->take(&ready, &callers);
    auto sockets = Napi::Array::New(env, ready.size());
    uint32_t at = 0;
    for (const auto& entry : ready) sockets[at++] = Napi::Number::New(env, entry.first);
    auto calls = Napi::Array::New(env, callers.size());
    for (uint32_t i = 0; i < callers.size(); i++) {
      auto call = Napi::Object::New(env);
      call.Set("socket", callers[i].socket);
      call.Set("address", callers[i].address);
      call.Set("streamId", callers[i].stream_id);
      calls[i] = call;
    }
    auto result = Napi::Object::New(env);
    result.Set("ready", sockets);
    result.Set("callers", calls);
    return result;
  }

  // decide(caller, code, seconds) -> whether the caller gets this answer in its handshake. Code 0 accepts. A rejection is
  // repeated for `seconds` for the same address and stream id.
  Napi::Value decide(const Napi::CallbackInfo& info) {
    const auto caller = info[0].As<Napi::Object>();
    const std::string key = text_of(caller, "address") + '\n' + text_of(caller, "streamId");
    const bool is_told = core_->decide(number_of(caller, "socket"), info[1].As<Napi::Number>().Int32Value(), key,
                                       info[2].As<Napi::Number>().DoubleValue());
    return Napi::Boolean::New(info.Env(), is_told);
  }

  // accept(listener) -> socket of a connected caller, the same as in `take`; null: there is none.
  Napi::Value accept(const Napi::CallbackInfo& info) {
    const SRTSOCKET socket = srt_accept(socket_of(info), nullptr, nullptr);
    if (socket == SRT_INVALID_SOCK) return info.Env().Null();
    open_sockets().add(socket, this);
    core_->watch_connection(socket);
    return Napi::Number::New(info.Env(), socket);
  }

  // receive(socket) -> messages that have arrived, joined; null: the connection has ended; undefined: none.
  Napi::Value receive(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    const SRTSOCKET socket = socket_of(info);
    size_t used = 0;
    while (used + kMaxMessageBytes <= received_.size()) {
      const int bytes = srt_recvmsg(socket, received_.data() + used, kMaxMessageBytes);
      if (bytes <= 0) break;
      used += static_cast<size_t>(bytes);
    }
    if (used > 0) return Napi::Buffer<char>::Copy(env, received_.data(), used);
    return srt_getlasterror(nullptr) == SRT_EASYNCRCV ? env.Undefined() : env.Null();
  }

  // send(socket, bytes) -> number of bytes accepted, in whole messages; -1: the connection has ended.
  Napi::Value send(const Napi::CallbackInfo& info) {
    const SRTSOCKET socket = socket_of(info);
    if (info.Length() < 2 || !info[1].IsBuffer()) throw Napi::TypeError::New(info.Env(), "expected a Buffer");
    const auto data = info[1].As<Napi::Buffer<char>>();
    size_t sent = 0;
    while (sent < data.Length()) {
      const int bytes = static_cast<int>(std::min<size_t>(kPayloadBytes, data.Length() - sent));
      if (srt_sendmsg(socket, data.Data() + sent, bytes, -1, 1) == SRT_ERROR) {
        if (srt_getlasterror(nullptr) == SRT_EASYNCSND) break;
        return Napi::Number::New(info.Env(), -1);
      }
      sent += static_cast<size_t>(bytes);
    }
    return Napi::Number::New(info.Env(), static_cast<double>(sent));
  }

  // state(socket) -> { state: "connecting" | "connected" | "closed", code, reason }: why a connection was rejected, if it was.
  Napi::Value state(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    const SRTSOCKET socket = socket_of(info);
    const SRT_SOCKSTATUS status = srt_getsockstate(socket);
    const char* name = status == SRTS_CONNECTED ? "connected" : status < SRTS_CONNECTED ? "connecting" : "closed";
    auto result = Napi::Object::New(env);
    result.Set("state", name);
    const int code = srt_getrejectreason(socket);
    result.Set("code", code);
    result.Set("reason", code == SRT_REJ_UNKNOWN ? "" : srt_rejectreason_str(code));
    return result;
  }

  // stats(socket) -> numbers since the connection began, or null if it has ended.
  Napi::Value stats(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    SRT_TRACEBSTATS now;
    if (srt_bistats(socket_of(info), &now, 0, 1) == SRT_ERROR) return env.Null();
    auto result = Napi::Object::New(env);
    result.Set("rttMs", now.msRTT);
    result.Set("received", static_cast<double>(now.pktRecvTotal));
    result.Set("lost", now.pktRcvLossTotal);
    result.Set("dropped", now.pktRcvDropTotal);
    result.Set("sent", static_cast<double>(now.pktSentTotal));
    result.Set("retransmitted", now.pktRetransTotal);
    result.Set("sendDropped", now.pktSndDropTotal);
    result.Set("latencyMs", now.msRcvTsbPdDelay);
    return result;
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    const SRTSOCKET socket = socket_of(info);
    srt_epoll_remove_usock(core_->epoll(), socket);
    open_sockets().remove(socket);
    srt_close(socket);
    core_->forget(socket);
    return info.Env().Undefined();
  }

  // Ends the thread. Sockets must be closed before.
  Napi::Value stop(const Napi::CallbackInfo& info) {
    end();
    return info.Env().Undefined();
  }

  void end() {
    if (!thread_.joinable()) return;
    napi_remove_env_cleanup_hook(Env(), on_exit, this);
    core_->stop();
    thread_.join();
    core_->release();
    open_sockets().close(this);
    srt_cleanup();
  }

  static void on_exit(void* sockets) { static_cast<Sockets*>(sockets)->end(); }

  // Of { host, port }. Throws unless the host is a numeric address.
  Address address_of(Napi::Env env, const Napi::Object& options) {
    const std::string host = text_of(options, "host");
    const uint16_t port = htons(static_cast<uint16_t>(number_of(options, "port")));
    Address out;
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    if (inet_pton(AF_INET, host.c_str(), &ipv4->sin_addr) == 1) {
      ipv4->sin_family = AF_INET;
      ipv4->sin_port = port;
      out.length = sizeof *ipv4;
      return out;
    }
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    if (inet_pton(AF_INET6, host.c_str(), &ipv6->sin6_addr) != 1) fail(env, "expected a numeric address");
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = port;
    out.length = sizeof *ipv6;
    return out;
  }

  SRTSOCKET open_socket(Napi::Env env, const Napi::Object& options) {
    const SRTSOCKET socket = srt_create_socket();
    if (socket == SRT_INVALID_SOCK) fail(env, last_error());
    const bool no = false;
    const int latency_ms = number_of(options, "latencyMs");
    set_flag(env, socket, SRTO_RCVSYN, &no, sizeof no, "mode");
    set_flag(env, socket, SRTO_SNDSYN, &no, sizeof no, "mode");
    set_flag(env, socket, SRTO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes, "buffer size");
    set_flag(env, socket, SRTO_LATENCY, &latency_ms, sizeof latency_ms, "latency");
    const std::string passphrase = text_of(options, "passphrase");
    if (!passphrase.empty())
      set_flag(env, socket, SRTO_PASSPHRASE, passphrase.data(), static_cast<int>(passphrase.size()), "passphrase");
    const int key_bytes = number_of(options, "keyBytes");
    if (key_bytes > 0) set_flag(env, socket, SRTO_PBKEYLEN, &key_bytes, sizeof key_bytes, "key length");
    return socket;
  }

  static SRTSOCKET socket_of(const Napi::CallbackInfo& info) {
    if (info.Length() < 1 || !info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "expected a socket");
    return info[0].As<Napi::Number>().Int32Value();
  }

  // Outlives the listeners, whose callbacks point to it.
  std::shared_ptr<Core> core_;
  std::thread thread_;
  std::vector<char> received_;
};

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("Sockets", Sockets::define(env));
  return exports;
}
NODE_API_MODULE(srt, init)

}  // namespace
