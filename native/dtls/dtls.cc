// DTLS 1.2 server for WebRTC sessions (RFC 5764), with the OpenSSL that is part of Node: its symbols are those of the program
// that loads this addon, and updates of Node bring its fixes. OpenSSL verifies that the client holds the key of its
// certificate; the caller compares the certificate with that of the offer (`peerCertificate`). JS thread only; never blocks.
#include <napi.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305";
constexpr const char* kSrtpProfiles = "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80";
constexpr const char* kExporter = "EXTRACTOR-dtls_srtp";
constexpr long kMtu = 1200;
// Certificates of browsers are smaller than 1 KB.
constexpr size_t kMaxCertificateBytes = 16384;
constexpr long kValiditySeconds = 10L * 365 * 86400;
constexpr unsigned kFirstTimeoutUs = 200'000;
constexpr unsigned kLongestTimeoutUs = 2'000'000;

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// The oldest error in OpenSSL's queue. Clears the queue, which Node's own modules share.
std::string take_error() {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

[[noreturn]] void fail(Napi::Env env, const char* what) {
  throw Napi::Error::New(env, std::string(what) + ": " + take_error());
}

Napi::Value to_der(Napi::Env env, X509* certificate) {
  unsigned char* bytes = nullptr;
  const int length = certificate == nullptr ? 0 : i2d_X509(certificate, &bytes);
  if (length <= 0) return env.Null();
  auto copy = Napi::Buffer<unsigned char>::Copy(env, bytes, static_cast<size_t>(length));
  OPENSSL_free(bytes);
  return copy;
}

// Self-signed and anonymous: browsers check its fingerprint, which is in the SDP answer.
Owned<X509> sign_certificate(EVP_PKEY* key) {
  Owned<X509> certificate(X509_new());
  uint64_t serial = 0;
  if (!certificate || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return nullptr;
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const auto* common_name = reinterpret_cast<const unsigned char*>("windhover");
  const bool is_filled =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kValiditySeconds) != nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1 &&
      X509_set_issuer_name(certificate.get(), name) == 1;
  if (!is_filled || X509_sign(certificate.get(), key, EVP_sha256()) == 0) return nullptr;
  return certificate;
}

// There is no authority to verify a chain. The proof of the key (CertificateVerify) is checked elsewhere.
int accept_any_chain(X509_STORE_CTX*, void*) { return 1; }

// createContext() -> { context, certificate }: shared by all sessions, and the certificate as DER. Throws.
Napi::Value create_context(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ERR_clear_error();
  Owned<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  Owned<X509> certificate = key ? sign_certificate(key.get()) : nullptr;
  if (!certificate) fail(env, "cannot create a certificate");
  Owned<SSL_CTX> context(SSL_CTX_new(DTLS_server_method()));
  if (!context) fail(env, "DTLS is not available");
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_QUERY_MTU);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), accept_any_chain, nullptr);
  SSL_CTX_set_max_cert_list(context.get(), kMaxCertificateBytes);
  const bool is_set = SSL_CTX_set_min_proto_version(context.get(), DTLS1_2_VERSION) == 1 &&
                      SSL_CTX_set_cipher_list(context.get(), kCiphers) == 1 &&
                      SSL_CTX_use_certificate(context.get(), certificate.get()) == 1 &&
                      SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
                      // Unlike the other functions this one returns 0 on success.
                      SSL_CTX_set_tlsext_use_srtp(context.get(), kSrtpProfiles) == 0;
  if (!is_set) fail(env, "cannot set up DTLS");
  auto result = Napi::Object::New(env);
  result.Set("context",
             Napi::External<SSL_CTX>::New(env, context.release(), [](Napi::Env, SSL_CTX* old) { SSL_CTX_free(old); }));
  result.Set("certificate", to_der(env, certificate.get()));
  return result;
}

unsigned choose_timeout(SSL*, unsigned last_us) {
  return last_us == 0 ? kFirstTimeoutUs : std::min(last_us * 2, kLongestTimeoutUs);
}

// The session of one viewer. Its BIO preserves datagram boundaries, unlike OpenSSL's memory BIO.
class Session : public Napi::ObjectWrap<Session> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Session",
                       {
                           InstanceMethod<&Session::receive>("receive"),
                           InstanceMethod<&Session::handle_timeout>("handleTimeout"),
                           InstanceMethod<&Session::close>("close"),
                           InstanceMethod<&Session::timeout_ms>("timeoutMs"),
                           InstanceMethod<&Session::peer_certificate>("peerCertificate"),
                           InstanceMethod<&Session::export_keys>("exportKeys"),
                       });
  }

  explicit Session(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Session>(info) {
    if (info.Length() < 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "expected a context of createContext()");
    ERR_clear_error();
    ssl_.reset(SSL_new(info[0].As<Napi::External<SSL_CTX>>().Data()));
    BIO* bio = ssl_ ? BIO_new(method()) : nullptr;
    if (bio == nullptr) fail(info.Env(), "cannot create a DTLS session");
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
    DTLS_set_link_mtu(ssl_.get(), kMtu);
    DTLS_set_timer_cb(ssl_.get(), choose_timeout);
  }

 private:
  // receive(datagram) -> { state, error, datagrams }: the state of the session, and the datagrams to send
  Napi::Value receive(const Napi::CallbackInfo& info) {
    if (info.Length() < 1 || !info[0].IsBuffer()) throw Napi::TypeError::New(info.Env(), "expected a Buffer");
    auto data = info[0].As<Napi::Buffer<unsigned char>>();
    input_ = data.Data();
    input_bytes_ = data.Length();
    advance();
    input_ = nullptr;
    input_bytes_ = 0;
    return report(info.Env());
  }

  Napi::Value handle_timeout(const Napi::CallbackInfo& info) {
    ERR_clear_error();
    if (state_ == State::kHandshaking && DTLSv1_handle_timeout(ssl_.get()) < 0) end(State::kFailed, take_error());
    return report(info.Env());
  }

  // Sends close_notify after a handshake. Frees OpenSSL's memory at once: JavaScript does not know its size and might collect
  // this object much later.
  Napi::Value close(const Napi::CallbackInfo& info) {
    ERR_clear_error();
    if (state_ == State::kConnected) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    if (state_ != State::kFailed) state_ = State::kClosed;
    ssl_.reset();
    return report(info.Env());
  }

  // Time until `handleTimeout` is due; null when no answer is expected.
  Napi::Value timeout_ms(const Napi::CallbackInfo& info) {
    timeval left{};
    if (state_ != State::kHandshaking || DTLSv1_get_timeout(ssl_.get(), &left) != 1) return info.Env().Null();
    const double ms = static_cast<double>(left.tv_sec) * 1e3 + static_cast<double>(left.tv_usec) / 1e3;
    return Napi::Number::New(info.Env(), ms);
  }

  Napi::Value peer_certificate(const Napi::CallbackInfo& info) {
    Owned<X509> certificate(ssl_ ? SSL_get1_peer_certificate(ssl_.get()) : nullptr);
    return to_der(info.Env(), certificate.get());
  }

  // { profile, keys }, or null without a common SRTP profile.
  Napi::Value export_keys(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    ERR_clear_error();
    const SRTP_PROTECTION_PROFILE* profile =
        state_ == State::kConnected ? SSL_get_selected_srtp_profile(ssl_.get()) : nullptr;
    if (profile == nullptr) return env.Null();
    // Two keys of 16 bytes, two salts of 12 (AEAD) or 14 bytes.
    const size_t salt_bytes = profile->id == SRTP_AEAD_AES_128_GCM ? 12 : 14;
    std::vector<unsigned char> keys(2 * (16 + salt_bytes));
    const int is_exported = SSL_export_keying_material(ssl_.get(), keys.data(), keys.size(), kExporter,
                                                       std::strlen(kExporter), nullptr, 0, 0);
    if (is_exported != 1) fail(env, "cannot export the SRTP keys");
    auto result = Napi::Object::New(env);
    result.Set("profile", Napi::Number::New(env, static_cast<double>(profile->id)));
    result.Set("keys", Napi::Buffer<unsigned char>::Copy(env, keys.data(), keys.size()));
    OPENSSL_cleanse(keys.data(), keys.size());
    return result;
  }

  enum class State { kHandshaking, kConnected, kClosed, kFailed };

  void end(State state, std::string error) {
    state_ = state;
    error_ = std::move(error);
  }

  void advance() {
    ERR_clear_error();
    if (state_ == State::kHandshaking) {
      const int result = SSL_do_handshake(ssl_.get());
      if (result == 1) state_ = State::kConnected;
      else has_ended(result);
    }
    // Application data is dropped. OpenSSL handles alerts and retransmissions while reading.
    unsigned char dropped[2048];
    while (state_ == State::kConnected) {
      const int result = SSL_read(ssl_.get(), dropped, sizeof dropped);
      if (result > 0) continue;
      if (!has_ended(result)) break;
    }
    ERR_clear_error();
  }

  // Records the end of the session, if `result` is one.
  bool has_ended(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        return false;
      case SSL_ERROR_ZERO_RETURN:
        end(State::kClosed, "");
        return true;
      default:
        end(State::kFailed, take_error());
        return true;
    }
  }

  Napi::Value report(Napi::Env env) {
    static constexpr const char* kNames[] = {"handshaking", "connected", "closed", "failed"};
    auto datagrams = Napi::Array::New(env, output_.size());
    for (uint32_t i = 0; i < output_.size(); i++) {
      datagrams[i] = Napi::Buffer<unsigned char>::Copy(env, output_[i].data(), output_[i].size());
    }
    output_.clear();
    auto result = Napi::Object::New(env);
    result.Set("state", kNames[static_cast<int>(state_)]);
    result.Set("error", error_);
    result.Set("datagrams", datagrams);
    return result;
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* made = [] {
      BIO_METHOD* fresh = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "datagrams");
      BIO_meth_set_read(fresh, [](BIO* bio, char* out, int size) {
        auto* self = static_cast<Session*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        if (self->input_ == nullptr || size <= 0) {
          BIO_set_retry_read(bio);
          return -1;
        }
        // The rest of a datagram that does not fit is lost, as with a socket.
        const int length = static_cast<int>(std::min(self->input_bytes_, static_cast<size_t>(size)));
        std::memcpy(out, self->input_, static_cast<size_t>(length));
        self->input_ = nullptr;
        return length;
      });
      BIO_meth_set_write(fresh, [](BIO* bio, const char* data, int size) {
        BIO_clear_retry_flags(bio);
        auto* bytes = reinterpret_cast<const unsigned char*>(data);
        static_cast<Session*>(BIO_get_data(bio))->output_.emplace_back(bytes, bytes + size);
        return size;
      });
      BIO_meth_set_ctrl(fresh, [](BIO*, int command, long, void*) -> long {
        if (command == BIO_CTRL_FLUSH) return 1;
        return command == BIO_CTRL_DGRAM_QUERY_MTU || command == BIO_CTRL_DGRAM_GET_FALLBACK_MTU ? kMtu : 0;
      });
      return fresh;
    }();
    return made;
  }

  Owned<SSL> ssl_;
  State state_ = State::kHandshaking;
  std::string error_;
  // The datagram being received; owned by JavaScript, valid during receive() only.
  const unsigned char* input_ = nullptr;
  size_t input_bytes_ = 0;
  std::vector<std::vector<unsigned char>> output_;
};

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("createContext", Napi::Function::New(env, create_context));
  exports.Set("Session", Session::define(env));
  return exports;
}
NODE_API_MODULE(dtls, init)

}  // namespace
