// Checks the addresses of connections. The kernel passes every `connect` to the guard, an unconfined process, which reads the
// address and connects a copy of the socket itself. Letting the original call continue would be unsafe: another thread could
// exchange the address after the check.
#include <arpa/inet.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "confine.h"

namespace {

constexpr uint16_t kDnsPort = 53;

// IPv4 in its IPv6 form, ::ffff:a.b.c.d.
struct Network {
  in6_addr address;
  int bits;
};

in6_addr map_ipv4(const in_addr& address) {
  in6_addr mapped = {};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  memcpy(&mapped.s6_addr[12], &address, 4);
  return mapped;
}

bool read_network(const std::string& text, Network* network) {
  const size_t slash = text.find('/');
  const std::string host = text.substr(0, slash);
  in_addr ipv4;
  const bool is_ipv4 = inet_pton(AF_INET, host.c_str(), &ipv4) == 1;
  if (is_ipv4) network->address = map_ipv4(ipv4);
  else if (inet_pton(AF_INET6, host.c_str(), &network->address) != 1) return false;
  const int most = is_ipv4 ? 32 : 128;
  const int bits = slash == std::string::npos ? most : atoi(text.c_str() + slash + 1);
  network->bits = bits + (is_ipv4 ? 96 : 0);
  return bits >= 0 && bits <= most;
}

bool contains(const Network& network, const in6_addr& address) {
  const int bytes = network.bits / 8, rest = network.bits % 8;
  if (memcmp(&network.address, &address, bytes) != 0) return false;
  return rest == 0 || ((network.address.s6_addr[bytes] ^ address.s6_addr[bytes]) >> (8 - rest)) == 0;
}

class Guard {
 public:
  Guard(std::vector<Network> denied, pid_t confined) : denied_(std::move(denied)), confined_(confined) {}

  // Whether sockets of the confined process can be copied.
  bool open() {
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, confined_, 0));
    const int copy = pidfd_ < 0 ? -1 : copy_descriptor(2);
    if (copy >= 0) close(copy);
    // EBADF: the descriptor is closed there, but could have been copied.
    return performs_ = copy >= 0 || errno == EBADF;
  }

  void serve(int listener) {
    for (;;) {
      pollfd wait = {listener, POLLIN, 0};
      if (poll(&wait, 1, -1) < 0 && errno != EINTR) return;
      if ((wait.revents & POLLIN) != 0) serve_one(listener);
      else if ((wait.revents & (POLLHUP | POLLERR)) != 0) return;  // all processes with this filter have ended
    }
  }

 private:
  void serve_one(int listener) {
    seccomp_notif call = {};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
    seccomp_notif_resp answer = {};
    answer.id = call.id;
    sockaddr_storage address = {};
    const socklen_t length = call.data.args[2] < sizeof(address) ? call.data.args[2] : sizeof(address);
    iovec here = {&address, length};
    iovec there = {reinterpret_cast<void*>(call.data.args[1]), length};
    const bool is_read = process_vm_readv(confined_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(length);
    if (!is_read) answer.error = -EFAULT;
    else if (!is_allowed(address, length)) answer.error = -EACCES;
    else if (!performs_) answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else answer.error = connect_copy(static_cast<int>(call.data.args[0]), address, length);
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }

  // Nearly all sockets are non-blocking. A blocking one delays other connections of the same process only.
  int connect_copy(int descriptor, const sockaddr_storage& address, socklen_t length) {
    const int socket = copy_descriptor(descriptor);
    if (socket < 0) return -errno;
    const int error = connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0 ? 0 : -errno;
    close(socket);
    return error;
  }

  int copy_descriptor(int descriptor) const {
    return static_cast<int>(syscall(SYS_pidfd_getfd, pidfd_, descriptor, 0));
  }

  bool is_allowed(const sockaddr_storage& address, socklen_t length) const {
    if (address.ss_family == AF_INET && length >= sizeof(sockaddr_in)) {
      const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
      return is_allowed(map_ipv4(ipv4.sin_addr), ipv4.sin_port);
    }
    if (address.ss_family == AF_INET6 && length >= offsetof(sockaddr_in6, sin6_scope_id)) {
      const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
      return is_allowed(ipv6.sin6_addr, ipv6.sin6_port);
    }
    // AF_UNSPEC disconnects a datagram socket.
    return address.ss_family == AF_UNSPEC || address.ss_family == AF_NETLINK;
  }

  bool is_allowed(const in6_addr& address, in_port_t port) const {
    // The name servers of some clouds have link-local addresses.
    if (ntohs(port) == kDnsPort) return true;
    for (const Network& network : denied_)
      if (contains(network, address)) return false;
    return true;
  }

  std::vector<Network> denied_;
  pid_t confined_;
  int pidfd_ = -1;
  bool performs_ = false;
};

// A message with a process id and two descriptors (SCM_RIGHTS).
struct Message {
  explicit Message(pid_t* pid) : data{pid, sizeof(*pid)} {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  iovec data;
  msghdr header = {};
};

bool send_descriptors(int socket, pid_t sender, const int (&descriptors)[2]) {
  Message message(&sender);
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(descriptors));
  memcpy(CMSG_DATA(rights), descriptors, sizeof(descriptors));
  return sendmsg(socket, &message.header, MSG_NOSIGNAL) == sizeof(sender);
}

bool receive_descriptors(int socket, pid_t* sender, int (*descriptors)[2]) {
  Message message(sender);
  ssize_t count;
  do count = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  const cmsghdr* rights = count == sizeof(*sender) ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (rights == nullptr || rights->cmsg_len != CMSG_LEN(sizeof(*descriptors))) return false;
  memcpy(*descriptors, CMSG_DATA(rights), sizeof(*descriptors));
  return true;
}

}  // namespace

int run_guard(int socket, const std::vector<std::string>& denied) {
  std::vector<Network> networks(denied.size());
  for (size_t i = 0; i < denied.size(); i++)
    if (!read_network(denied[i], &networks[i])) return 125;
  signal(SIGCHLD, SIG_IGN);  // children are not waited for
  for (;;) {
    pid_t confined = 0;
    int descriptors[2];  // the listener of the filter, and the socket for the answer
    if (!receive_descriptors(socket, &confined, &descriptors)) return 0;
    // One process each: slow connections do not delay others.
    if (fork() == 0) {
      close(socket);
      Guard guard(networks, confined);
      const char mode = guard.open() ? 'p' : 'c';
      if (write(descriptors[1], &mode, 1) != 1) _exit(1);
      close(descriptors[1]);
      guard.serve(descriptors[0]);
      _exit(0);
    }
    for (const int descriptor : descriptors) close(descriptor);
  }
}

const char* ask_guard(int guard, int listener) {
  int answer[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, answer) != 0) return nullptr;
  const int descriptors[2] = {listener, answer[1]};
  const bool is_sent = send_descriptors(guard, getpid(), descriptors);
  close(answer[1]);
  char mode = 0;
  const bool is_answered = is_sent && read(answer[0], &mode, 1) == 1;
  close(answer[0]);
  if (!is_answered) return nullptr;
  return mode == 'p' ? "performed" : "checked";
}
