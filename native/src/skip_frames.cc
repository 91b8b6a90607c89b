// `skipframes`: drops encoded frames that nothing needs, before they are decoded: non-reference frames, which no other frame
// is predicted from, or everything but keyframes. It never leaves the decoder without a frame that a later one needs: after
// reference frames were dropped, frames pass again from the next keyframe on. H.264 and H.265 in access units; of VP8 and
// VP9 it keeps keyframes; other streams pass.
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "addon.h"
#include "gst_cpp.h"

namespace {
enum class Codec { other, vpx, h264, h265 };
// `auto`: at least one of `every` frames; keyframes only, where they are not further apart.
enum Keep { kAll, kReference, kKeyframes, kAuto };

struct Unit {
  bool is_key = false;            // decodable without any other frame
  bool is_open = false;           // of H.264, an I-frame that is not IDR: frames after it may need frames before it
  bool is_start = false;          // such a frame after a gap, for which the decoder is prepared (relay.cc)
  bool is_reference = true;
  bool is_leading = false;        // of H.265, needs frames before the keyframe that it follows (RASL)
  bool has_leading = false;       // of H.265, a keyframe that such frames can follow
  bool is_parameters = false;     // carries parameter sets, which later frames need
};

// What the frames of one stream are. One thread.
class Stream {
 public:
  void set_caps(GstCaps* caps) {
    const GstStructure* format = gst_caps_get_structure(caps, 0);
    codec_ = codec_of(format);
    const gchar* layout = gst_structure_get_string(format, "stream-format");
    has_start_codes_ = layout != nullptr && g_str_equal(layout, "byte-stream");
    highest_layer_ = -1;
    length_bytes_ = 4;
    gint numerator = 0, denominator = 1;
    gst_structure_get_fraction(format, "framerate", &numerator, &denominator);
    rate_ = denominator > 0 ? static_cast<double>(numerator) / denominator : 0;
    const GValue* value = gst_structure_get_value(format, "codec_data");
    GstBuffer* data = value == nullptr ? nullptr : gst_value_get_buffer(value);
    GstMapInfo map;
    if (data == nullptr || !gst_buffer_map(data, &map, GST_MAP_READ)) return;
    read_configuration(map.data, map.size);
    gst_buffer_unmap(data, &map);
  }

  Codec codec() const { return codec_; }
  double rate() const { return rate_; }  // frames per second; 0: not known

  Unit read(GstBuffer* buffer) {
    Unit unit;
    const bool is_marked_key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    if (codec_ == Codec::vpx) unit.is_key = is_marked_key;
    if (codec_ != Codec::h264 && codec_ != Codec::h265) return unit;
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return unit;
    bool has_slices = false, is_reference = false;
    each_nal(map.data, map.size, [&](const uint8_t* nal, size_t size) {
      if (codec_ == Codec::h264) read_h264(nal, unit, has_slices, is_reference);
      else read_h265(nal, size, unit, has_slices, is_reference);
    });
    gst_buffer_unmap(buffer, &map);
    unit.is_reference = is_reference || !has_slices;
    unit.is_open = codec_ == Codec::h264 && is_marked_key && has_slices && !unit.is_key;
    unit.is_start = unit.is_open && GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    return unit;
  }

 private:
  static Codec codec_of(const GstStructure* format) {
    // Only whole frames can be dropped.
    const gchar* alignment = gst_structure_get_string(format, "alignment");
    const bool is_whole = alignment != nullptr && g_str_equal(alignment, "au");
    if (gst_structure_has_name(format, "video/x-h264")) return is_whole ? Codec::h264 : Codec::other;
    if (gst_structure_has_name(format, "video/x-h265")) return is_whole ? Codec::h265 : Codec::other;
    if (gst_structure_has_name(format, "video/x-vp8") || gst_structure_has_name(format, "video/x-vp9")) return Codec::vpx;
    return Codec::other;
  }

  // ISO/IEC 14496-15: avcC and hvcC.
  void read_configuration(const uint8_t* data, size_t size) {
    if (codec_ == Codec::h264 && size > 4) length_bytes_ = (data[4] & 3) + 1;
    if (codec_ != Codec::h265 || size < 23) return;
    length_bytes_ = (data[21] & 3) + 1;
    size_t at = 23;
    for (int arrays = data[22]; arrays > 0 && at + 3 <= size; arrays--) {
      int nals = data[at + 1] << 8 | data[at + 2];
      at += 3;
      for (; nals > 0 && at + 2 <= size; nals--) {
        const size_t length = static_cast<size_t>(data[at] << 8 | data[at + 1]);
        at += 2;
        if (at + length > size) return;
        note_parameters(data + at, length);
        at += length;
      }
    }
  }

  // Of H.265: the temporal layers, from a sequence parameter set.
  void note_parameters(const uint8_t* nal, size_t size) {
    constexpr int kSequenceParameters = 33;
    if (size > 2 && (nal[0] >> 1 & 0x3f) == kSequenceParameters) highest_layer_ = nal[2] >> 1 & 7;
  }

  template <typename Visit>
  void each_nal(const uint8_t* data, size_t size, Visit visit) const {
    if (!has_start_codes_) {
      for (size_t at = 0; at + length_bytes_ < size;) {
        size_t length = 0;
        for (size_t i = 0; i < length_bytes_; i++) length = length << 8 | data[at + i];
        at += length_bytes_;
        if (length > size - at) return;
        if (length > 0) visit(data + at, length);
        at += length;
      }
      return;
    }
    // Searching the payload is cheap beside decoding it; memchr finds the ends of start codes.
    for (size_t at = 2; at + 1 < size; at++) {
      const auto* one = static_cast<const uint8_t*>(memchr(data + at, 1, size - at - 1));
      if (one == nullptr) return;
      at = static_cast<size_t>(one - data);
      if (data[at - 1] == 0 && data[at - 2] == 0) visit(data + at + 1, size - at - 1);
    }
  }

  // ITU-T H.264, table 7-1.
  static void read_h264(const uint8_t* nal, Unit& unit, bool& has_slices, bool& is_reference) {
    const int type = nal[0] & 0x1f;
    if (type == 7 || type == 8 || type == 13 || type == 15) unit.is_parameters = true;
    if (type < 1 || type > 5) return;
    has_slices = true;
    if ((nal[0] & 0x60) != 0) is_reference = true;
    if (type == 5) unit.is_key = true;
  }

  // ITU-T H.265, table 7-1.
  void read_h265(const uint8_t* nal, size_t size, Unit& unit, bool& has_slices, bool& is_reference) {
    if (size < 2) return;
    const int type = nal[0] >> 1 & 0x3f, layer = (nal[1] & 7) - 1;
    if (type >= 32 && type <= 34) {
      unit.is_parameters = true;
      note_parameters(nal, size);
    }
    if (type > 31) return;
    has_slices = true;
    if (type >= 16 && type <= 21) {
      unit.is_key = true;
      unit.has_leading = type != 19 && type != 20;
    }
    if (type == 8 || type == 9) unit.is_leading = true;
    // Even types up to 14 are not referred to in their own layer, so only those of the highest layer are not at all.
    const bool is_unused = type <= 14 && type % 2 == 0 && layer == highest_layer_;
    if (!is_unused) is_reference = true;
  }

  Codec codec_ = Codec::other;
  bool has_start_codes_ = false;
  size_t length_bytes_ = 4;
  int highest_layer_ = -1;  // of H.265; -1: not known
  double rate_ = 0;
};

// Which frames pass. One thread.
class Selection {
 public:
  void reset() { *this = Selection(); }

  bool passes(const Unit& unit, Keep keep, unsigned every) {
    if (unit.is_key || unit.is_open) note_keyframe(unit.is_open);
    frames_++;
    const bool is_passed = decide(unit, keep, every);
    skipped_ = is_passed ? 0 : skipped_ + 1;
    return is_passed;
  }

 private:
  // A stream that continues with I-frames that are not IDR: the decoder starts at the third, at the risk of losing it.
  static constexpr unsigned kMostMissed = 2;
  static constexpr unsigned kUnknown = G_MAXUINT;

  bool decide(const Unit& unit, Keep keep, unsigned every) {
    if (unit.is_key || unit.is_start || (unit.is_open && is_waiting_ && ++missed_ > kMostMissed)) {
      skips_leading_ = is_waiting_ && unit.has_leading;
      is_waiting_ = false;
      missed_ = 0;
      return true;
    }
    if (is_waiting_ || (unit.is_leading && skips_leading_)) return false;
    if (keep == kAll) return true;
    if (keeps_keyframes(keep, every) && !unit.is_parameters) {
      is_waiting_ = true;
      return false;
    }
    return unit.is_reference || unit.is_parameters || (keep == kAuto && skipped_ + 1 >= every);
  }

  void note_keyframe(bool is_open) {
    before_ = last_;
    // Where one is open, frames may need others across it.
    last_ = is_open || !has_keyframe_ ? kUnknown : frames_;
    has_keyframe_ = true;
    frames_ = 0;
  }

  // Only if the last two groups of pictures were closed: so will be the next.
  bool keeps_keyframes(Keep keep, unsigned every) const {
    const unsigned longest = std::max(last_, before_);
    return longest != kUnknown && (keep == kKeyframes || (keep == kAuto && longest <= every));
  }

  unsigned last_ = kUnknown, before_ = kUnknown;  // frames of the last groups of pictures
  unsigned frames_ = 0;                           // since the last keyframe
  unsigned missed_ = 0;                           // keyframes, while waiting
  unsigned skipped_ = 0;                          // frames, since the last that passed
  bool has_keyframe_ = false;
  bool is_waiting_ = false;  // reference frames were dropped: until the next keyframe
  bool skips_leading_ = false;
};

struct SkipFrames {
  GstBaseTransform base;
  Stream* stream;        // owned; streaming thread
  Selection* selection;  // owned; streaming thread
  // Guarded by the object lock.
  gint keep;
  guint every;
  gdouble rate;
  gboolean pause;
  guint64 skipped;
};
enum { kKeep = 1, kEvery, kRate, kPause, kSkipped };

gpointer parent_class = nullptr;

SkipFrames* cast(gpointer object) { return static_cast<SkipFrames*>(object); }

GType keep_type() {
  static const GEnumValue values[] = {{kAll, "All frames", "all"},
                                      {kReference, "Frames that others are predicted from", "reference"},
                                      {kKeyframes, "Keyframes", "keyframes"},
                                      {kAuto, "At least one of `every` frames, and as few others as possible", "auto"},
                                      {0, nullptr, nullptr}};
  static GType type = g_enum_register_static("WindhoverSkipFramesKeep", values);
  return type;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* caps, GstCaps*) {
  cast(base)->stream->set_caps(caps);
  return TRUE;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  auto* self = cast(base);
  if (self->stream->codec() == Codec::other) return GST_FLOW_OK;
  GST_OBJECT_LOCK(self);
  const auto keep = self->pause ? kAll : static_cast<Keep>(self->keep);
  const guint every = self->rate > 0 ? static_cast<guint>(std::max(1.0, self->stream->rate() / self->rate)) : self->every;
  GST_OBJECT_UNLOCK(self);
  if (self->selection->passes(self->stream->read(buffer), keep, every)) return GST_FLOW_OK;
  GST_OBJECT_LOCK(self);
  self->skipped++;
  GST_OBJECT_UNLOCK(self);
  return GST_BASE_TRANSFORM_FLOW_DROPPED;
}

// After a seek or a new stream, nothing is known about keyframes.
gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  const auto type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_FLUSH_STOP || type == GST_EVENT_STREAM_START) cast(base)->selection->reset();
  return GST_BASE_TRANSFORM_CLASS(parent_class)->sink_event(base, event);
}

gboolean start(GstBaseTransform* base) {
  cast(base)->selection->reset();
  return TRUE;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  GST_OBJECT_LOCK(object);
  if (id == kKeep) cast(object)->keep = g_value_get_enum(value);
  if (id == kEvery) cast(object)->every = g_value_get_uint(value);
  if (id == kRate) cast(object)->rate = g_value_get_double(value);
  if (id == kPause) cast(object)->pause = g_value_get_boolean(value);
  GST_OBJECT_UNLOCK(object);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  GST_OBJECT_LOCK(object);
  if (id == kKeep) g_value_set_enum(value, cast(object)->keep);
  if (id == kEvery) g_value_set_uint(value, cast(object)->every);
  if (id == kRate) g_value_set_double(value, cast(object)->rate);
  if (id == kPause) g_value_set_boolean(value, cast(object)->pause);
  if (id == kSkipped) g_value_set_uint64(value, cast(object)->skipped);
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  delete cast(object)->stream;
  delete cast(object)->selection;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

void class_init(gpointer klass, gpointer) {
  parent_class = g_type_class_peek_parent(klass);
  auto* object = G_OBJECT_CLASS(klass);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  constexpr auto kLive = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);
  constexpr auto kRead = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(object, kKeep, g_param_spec_enum("keep", "keep", "Frames that pass", keep_type(), kAll, kLive));
  g_object_class_install_property(
      object, kEvery, g_param_spec_uint("every", "every", "With `auto`, one of this many frames is needed", 1, G_MAXUINT, 1, kLive));
  g_object_class_install_property(
      object, kRate, g_param_spec_double("rate", "rate", "With `auto`, frames per second that are needed, instead of `every`; 0: `every`", 0,
                                         G_MAXDOUBLE, 0, kLive));
  g_object_class_install_property(object, kPause,
                                  g_param_spec_boolean("pause", "pause", "All frames pass: at once, or from the next keyframe on", FALSE, kLive));
  g_object_class_install_property(object, kSkipped,
                                  g_param_spec_uint64("skipped", "skipped", "Frames that were dropped", 0, G_MAXUINT64, 0, kRead));
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "Skip frames", "Filter/Video",
                                        "Drops encoded frames that need not be decoded", "Windhover");
  add_pad_templates(element, "ANY");
  auto* base = GST_BASE_TRANSFORM_CLASS(klass);
  base->set_caps = set_caps;
  base->sink_event = sink_event;
  base->transform_ip = transform_ip;
  base->start = start;
  base->transform_ip_on_passthrough = TRUE;
}

void init(GTypeInstance* instance, gpointer) {
  auto* self = cast(instance);
  self->stream = new Stream();
  self->selection = new Selection();
  self->keep = kAll;
  self->every = 1;
  self->rate = 0;
  self->pause = FALSE;
  self->skipped = 0;
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}
}  // namespace

void register_skip_frames() {
  GType type = register_type<SkipFrames>(GST_TYPE_BASE_TRANSFORM, "WindhoverSkipFrames", class_init, init);
  gst_element_register(nullptr, "skipframes", GST_RANK_NONE, type);
}
