#include "json_text.h"

#include <glib.h>

std::string json_string(const char* text) {
  std::string out = "\"";
  for (const char* at = text == nullptr ? "" : text; *at != 0; at++) {
    auto c = static_cast<unsigned char>(*at);
    if (c == '"' || c == '\\') out += '\\', out += *at;
    else if (c < 0x20) {
      char escape[8];
      g_snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else out += *at;
  }
  return out + "\"";
}
