// `tsklv`: makes `tsdemux` output synchronous metadata (KLV) of MPEG transport streams, which it does not know: in program
// maps, stream type 0x15 with a metadata descriptor becomes 0x06 with the registration `KLVA`. Units keep their cell headers.
#include <gst/base/gstbasetransform.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

#include "addon.h"
#include "gst_cpp.h"

namespace {
constexpr size_t kPacket = 188;
constexpr uint8_t kSync = 0x47, kPrivate = 0x06, kMetadata = 0x15;
constexpr uint8_t kRegistration = 0x05, kMetadataDescriptor = 0x26, kUserPrivate = 0xfe;
// `05 04 KLVA`, followed by a descriptor that fills the rest.
constexpr size_t kRegistrationBytes = 6, kLeastDescriptorBytes = kRegistrationBytes + 2;
constexpr size_t kMostPrograms = 64;

uint16_t read16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

// ISO/IEC 13818-1, annex A.
uint32_t section_crc(const uint8_t* bytes, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; i++) {
    crc ^= static_cast<uint32_t>(bytes[i]) << 24;
    for (int bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? crc << 1 ^ 0x04c11db7 : crc << 1;
  }
  return crc;
}

// Lengths do not change, so a map is rewritten where it is. A map that is longer than a packet is left as it is. One thread.
class MapRewriter {
 public:
  void rewrite(uint8_t* data, size_t size) {
    for (size_t at = find_sync(data, size); at + kPacket <= size; at += kPacket)
      if (data[at] == kSync) rewrite_packet(data + at);
  }

 private:
  static size_t find_sync(const uint8_t* data, size_t size) {
    for (size_t at = 0; at < kPacket && at + kPacket <= size; at++)
      if (data[at] == kSync && (at + kPacket >= size || data[at + kPacket] == kSync)) return at;
    return size;
  }

  void rewrite_packet(uint8_t* packet) {
    const uint16_t pid = read16(packet + 1) & 0x1fff;
    const bool is_start = (packet[1] & 0x40) != 0, is_damaged = (packet[1] & 0x80) != 0, has_payload = (packet[3] & 0x10) != 0;
    if (!is_start || is_damaged || !has_payload || (pid != 0 && maps_.count(pid) == 0)) return;
    size_t at = (packet[3] & 0x20) != 0 ? 5 + packet[4] : 4;
    if (at >= kPacket) return;
    at += 1 + packet[at];
    if (at + 8 > kPacket) return;
    uint8_t* section = packet + at;
    const size_t size = 3 + (read16(section + 1) & 0xfff);
    if (size < 12 || at + size > kPacket) return;
    if (pid == 0 && section[0] == 0) read_programs(section, size - 4);
    if (pid != 0 && section[0] == 2) rewrite_map(section, size - 4);
  }

  void read_programs(const uint8_t* section, size_t end) {
    for (size_t at = 8; at + 4 <= end && maps_.size() < kMostPrograms; at += 4)
      if (read16(section + at) != 0) maps_.insert(read16(section + at + 2) & 0x1fff);
  }

  // `end`: where its checksum is.
  static void rewrite_map(uint8_t* section, size_t end) {
    if (end < 12) return;
    bool is_changed = false;
    for (size_t at = 12 + (read16(section + 10) & 0xfff); at + 5 <= end;) {
      const size_t next = at + 5 + (read16(section + at + 3) & 0xfff);
      if (next > end) break;
      if (section[at] == kMetadata && rewrite_descriptor(section + at + 5, next - at - 5)) {
        section[at] = kPrivate;
        is_changed = true;
      }
      at = next;
    }
    if (is_changed) GST_WRITE_UINT32_BE(section + end, section_crc(section, end));
  }

  static bool rewrite_descriptor(uint8_t* descriptors, size_t size) {
    for (size_t at = 0; at + 2 <= size;) {
      const size_t bytes = 2 + static_cast<size_t>(descriptors[at + 1]);
      if (at + bytes > size) return false;
      uint8_t* descriptor = descriptors + at;
      const std::string_view content(reinterpret_cast<const char*>(descriptor) + 2, bytes - 2);
      const bool is_klv = content.find("KLVA") != std::string_view::npos;
      if (descriptor[0] == kRegistration && is_klv) return true;
      if (descriptor[0] == kMetadataDescriptor && is_klv && bytes >= kLeastDescriptorBytes) {
        std::memset(descriptor, 0, bytes);
        std::memcpy(descriptor, "\x05\x04KLVA", kRegistrationBytes);
        descriptor[kRegistrationBytes] = kUserPrivate;
        descriptor[kRegistrationBytes + 1] = static_cast<uint8_t>(bytes - kLeastDescriptorBytes);
        return true;
      }
      at += bytes;
    }
    return false;
  }

  std::set<uint16_t> maps_;  // PIDs
};

struct TsKlv {
  GstBaseTransform base;
  MapRewriter* rewriter;  // owned; streaming thread
};

gpointer parent_class = nullptr;

TsKlv* cast(gpointer object) { return static_cast<TsKlv*>(object); }

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READWRITE)) return GST_FLOW_OK;
  cast(base)->rewriter->rewrite(map.data, map.size);
  gst_buffer_unmap(buffer, &map);
  return GST_FLOW_OK;
}

gboolean start(GstBaseTransform* base) {
  *cast(base)->rewriter = MapRewriter();
  return TRUE;
}

void finalize(GObject* object) {
  delete cast(object)->rewriter;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

void class_init(gpointer klass, gpointer) {
  parent_class = g_type_class_peek_parent(klass);
  G_OBJECT_CLASS(klass)->finalize = finalize;
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "Synchronous KLV of MPEG-TS", "Filter/Metadata",
                                        "Declares synchronous metadata as asynchronous, which tsdemux outputs", "Windhover");
  add_pad_templates(element, "ANY");
  auto* base = GST_BASE_TRANSFORM_CLASS(klass);
  base->transform_ip = transform_ip;
  base->start = start;
}

void init(GTypeInstance* instance, gpointer) {
  cast(instance)->rewriter = new MapRewriter();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(instance), TRUE);
}
}  // namespace

void register_ts_klv() {
  GType type = register_type<TsKlv>(GST_TYPE_BASE_TRANSFORM, "WindhoverTsKlv", class_init, init);
  gst_element_register(nullptr, "tsklv", GST_RANK_NONE, type);
}
