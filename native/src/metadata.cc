#include "metadata.h"

namespace {
struct WindhoverMeta {
  GstMeta meta;
  MetadataBox* box;
};

GType api_type() {
  // No tags: transforms, encoders and decoders then copy it whatever they do to the pixels.
  static const gchar* tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("WindhoverMetaAPI", tags);
  return type;
}
const GstMetaInfo* info();

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<WindhoverMeta*>(meta)->box = nullptr;
  return TRUE;
}
void release(GstMeta* meta, GstBuffer*) {
  auto* box = reinterpret_cast<WindhoverMeta*>(meta)->box;
  if (box != nullptr) box->unref();
}
gboolean copy(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark, gpointer) {
  auto* box = reinterpret_cast<WindhoverMeta*>(meta)->box;
  if (box != nullptr && metadata_of(to) == nullptr) metadata_set(to, box->ref());
  return TRUE;
}
const GstMetaInfo* info() {
  static const GstMetaInfo* registered =
      gst_meta_register(api_type(), "WindhoverMeta", sizeof(WindhoverMeta), init, release, copy);
  return registered;
}
}  // namespace

MetadataBox* MetadataBox::create(std::shared_ptr<Bridge> bridge, napi_ref reference) {
  auto* box = new MetadataBox;
  box->reference = reference;
  box->bridge = std::move(bridge);
  box->bridge->boxes++;
  return box;
}
MetadataBox* MetadataBox::ref() {
  count_++;
  return this;
}
void MetadataBox::unref() {
  if (--count_ > 0) return;
  bridge->boxes--;
  bridge->retire(reference);
  delete this;
}

void metadata_register() { info(); }

MetadataBox* metadata_of(GstBuffer* buffer) {
  auto* meta = reinterpret_cast<WindhoverMeta*>(gst_buffer_get_meta(buffer, api_type()));
  return meta == nullptr ? nullptr : meta->box;
}
void metadata_set(GstBuffer* buffer, MetadataBox* box) {
  auto* meta = reinterpret_cast<WindhoverMeta*>(gst_buffer_get_meta(buffer, api_type()));
  if (meta == nullptr) meta = reinterpret_cast<WindhoverMeta*>(gst_buffer_add_meta(buffer, info(), nullptr));
  if (meta->box != nullptr) meta->box->unref();
  meta->box = box;
}
