// A camera for tests: an RTSP server with one stream, a moving test pattern or the H.264 of an MP4 file, in its own process,
// which tests kill, stop and continue. Prints {"url": …} once it listens; ends on SIGTERM, SIGINT and with its parent.
//
//   camera --port 0 --path /cam --codec h264 --width 320 --height 240 --fps 15 --user U --password P --pattern ball
//   camera --file clip.mp4
//   camera --klv 'unit-%05d.klv'        a second stream with a unit of metadata per frame, from numbered files
#include <glib-unix.h>
#include <gst/gst.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

namespace {

struct Options {
  int port = 0;
  int width = 320;
  int height = 240;
  int fps = 15;
  std::string path = "/cam";
  std::string codec = "h264";
  std::string pattern = "ball";
  std::string file;
  std::string klv;
  std::string user;
  std::string password;
};

[[noreturn]] void fail(const std::string& reason) {
  g_printerr("camera: %s\n", reason.c_str());
  _exit(2);
}

int read_number(const std::string& name, const char* text, int minimum, int maximum) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < minimum || value > maximum) {
    fail(name + " takes a whole number from " + std::to_string(minimum) + " to " + std::to_string(maximum) +
           ", not \"" + text + "\"");
  }
  return static_cast<int>(value);
}

// Even sizes only: 4:2:0 has one chroma sample per two pixels.
int read_size(const std::string& name, const char* text) {
  const int value = read_number(name, text, 16, 8192);
  if (value % 2 != 0) fail(name + " takes an even number, not " + text);
  return value;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) fail(name + " needs a value");
    const char* value = argv[i + 1];
    if (name == "--port") options.port = read_number(name, value, 0, 65535);
    else if (name == "--width") options.width = read_size(name, value);
    else if (name == "--height") options.height = read_size(name, value);
    else if (name == "--fps") options.fps = read_number(name, value, 1, 240);
    else if (name == "--path") options.path = value;
    else if (name == "--codec") options.codec = value;
    else if (name == "--pattern") options.pattern = value;
    else if (name == "--file") options.file = value;
    else if (name == "--klv") options.klv = value;
    else if (name == "--user") options.user = value;
    else if (name == "--password") options.password = value;
    else fail("unknown option " + name + ": expected --port --path --codec --width --height --fps --pattern --file --klv --user --password");
  }
  const char* path_letters = "/-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (options.path.empty() || options.path[0] != '/' ||
      options.path.find_first_not_of(path_letters) != std::string::npos) {
    fail("--path is a slash and then letters, digits, / - _ and . only, not \"" + options.path + "\"");
  }
  if (options.codec != "h264" && options.codec != "h265" && options.codec != "jpeg")
    fail("--codec is h264, h265 or jpeg, not \"" + options.codec + "\"");
  if (options.user.empty() != options.password.empty()) fail("--user and --password come together");
  for (const char letter : options.pattern) {
    if (!g_ascii_isalnum(letter) && letter != '-') fail("--pattern is the name of a videotestsrc pattern");
  }
  if (options.file.find_first_of("\"\\") != std::string::npos) fail("--file takes no quotes and no backslashes");
  if (options.klv.find_first_of("\"\\") != std::string::npos) fail("--klv takes no quotes and no backslashes");
  return options;
}

// Static patterns are scrolled, so that every frame differs from the one before.
std::string describe_source(const Options& options) {
  const bool moves = options.pattern == "ball" || options.pattern == "snow";
  return "videotestsrc is-live=true pattern=" + options.pattern + (moves ? "" : " horizontal-speed=2") +
         " ! video/x-raw,format=I420,width=" + std::to_string(options.width) +
         ",height=" + std::to_string(options.height) + ",framerate=" + std::to_string(options.fps) + "/1";
}

// Keeps the decoding times of the file, so that packets are sent in time also with B-frames.
std::string describe_file(const Options& options) {
  return "filesrc location=\"" + options.file +
         "\" ! qtdemux ! h264parse config-interval=-1 ! video/x-h264,stream-format=byte-stream,alignment=au"
         " ! rtph264pay name=pay0 pt=96 config-interval=0";
}

// Units have the times of the frames: both streams begin with the pipeline.
std::string describe_klv(const Options& options) {
  if (options.klv.empty()) return "";
  return " appsrc name=klv format=time caps=\"meta/x-klv,parsed=true\" max-buffers=2 ! clocksync ! rtpklvpay name=pay1 pt=97";
}

// The next unit, from its file; the stream of units ends with the last one.
struct Units {
  std::string pattern;
  int fps;
  guint next = 0;
};
void push_unit(GstElement* appsrc, guint, gpointer data) {
  auto* units = static_cast<Units*>(data);
  gchar number[16];
  g_snprintf(number, sizeof number, "%05u", units->next);
  std::string path = units->pattern;
  const size_t place = path.find("%05d");
  if (place != std::string::npos) path.replace(place, 4, number);
  gchar* bytes = nullptr;
  gsize length = 0;
  GstFlowReturn flow;
  if (!g_file_get_contents(path.c_str(), &bytes, &length, nullptr)) {
    g_signal_emit_by_name(appsrc, "end-of-stream", &flow);
    return;
  }
  GstBuffer* buffer = gst_buffer_new_wrapped(bytes, length);
  GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(units->next++, GST_SECOND, static_cast<guint64>(units->fps));
  g_signal_emit_by_name(appsrc, "push-buffer", buffer, &flow);
  gst_buffer_unref(buffer);
}
void free_units(gpointer data, GClosure*) { delete static_cast<Units*>(data); }
void feed_klv(GstRTSPMediaFactory*, GstRTSPMedia* media, gpointer data) {
  const auto* options = static_cast<const Options*>(data);
  GstElement* bin = gst_rtsp_media_get_element(media);
  if (GstElement* appsrc = gst_bin_get_by_name(GST_BIN(bin), "klv")) {
    auto* units = new Units{options->klv, options->fps};
    g_signal_connect_data(appsrc, "need-data", G_CALLBACK(push_unit), units, free_units, static_cast<GConnectFlags>(0));
    gst_object_unref(appsrc);
  }
  gst_object_unref(bin);
}

std::string describe_encoder(const Options& options) {
  const std::string fps = std::to_string(options.fps);
  if (options.codec == "h264") {
    return "x264enc tune=zerolatency speed-preset=ultrafast threads=1 key-int-max=" + fps +
           " ! h264parse config-interval=-1 ! video/x-h264,stream-format=byte-stream,alignment=au"
           " ! rtph264pay name=pay0 pt=96 config-interval=0";
  }
  if (options.codec == "jpeg") return "jpegenc ! rtpjpegpay name=pay0 pt=26";
  return "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=" + fps +
         " option-string=pools=1:frame-threads=1:log-level=none"
         " ! h265parse config-interval=-1 ! video/x-h265,stream-format=byte-stream,alignment=au"
         " ! rtph265pay name=pay0 pt=96 config-interval=0";
}

void require_login(GstRTSPServer* server, GstRTSPMediaFactory* factory, const Options& options) {
  GstRTSPAuth* auth = gst_rtsp_auth_new();
  GstRTSPToken* token = gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, "viewer", nullptr);
  gst_rtsp_auth_set_supported_methods(auth, GST_RTSP_AUTH_DIGEST);
  gst_rtsp_auth_add_digest(auth, options.user.c_str(), options.password.c_str(), token);
  gst_rtsp_token_unref(token);
  gst_rtsp_server_set_auth(server, auth);
  g_object_unref(auth);
  gst_rtsp_media_factory_add_role(factory, "viewer", GST_RTSP_PERM_MEDIA_FACTORY_ACCESS, G_TYPE_BOOLEAN, TRUE,
                                  GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT, G_TYPE_BOOLEAN, TRUE, nullptr);
}

gboolean end_loop(gpointer loop) {
  g_main_loop_quit(static_cast<GMainLoop*>(loop));
  return G_SOURCE_REMOVE;
}

// Clients that disappeared without TEARDOWN would be served forever.
gboolean remove_dead_sessions(gpointer server) {
  GstRTSPSessionPool* pool = gst_rtsp_server_get_session_pool(static_cast<GstRTSPServer*>(server));
  gst_rtsp_session_pool_cleanup(pool);
  g_object_unref(pool);
  return G_SOURCE_CONTINUE;
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl.
  if (getppid() != parent) return 1;

  const Options options = read_options(argc, argv);
  gst_init(nullptr, nullptr);
  GMainLoop* loop = g_main_loop_new(nullptr, FALSE);
  GstRTSPServer* server = gst_rtsp_server_new();
  gst_rtsp_server_set_address(server, "127.0.0.1");
  gst_rtsp_server_set_service(server, std::to_string(options.port).c_str());

  GstRTSPMediaFactory* factory = gst_rtsp_media_factory_new();
  const std::string stream =
      options.file.empty() ? describe_source(options) + " ! " + describe_encoder(options) : describe_file(options);
  const std::string launch = "( " + stream + describe_klv(options) + " )";
  gst_rtsp_media_factory_set_launch(factory, launch.c_str());
  g_signal_connect(factory, "media-configure", G_CALLBACK(feed_klv), const_cast<Options*>(&options));
  // Shared: all clients see the same picture, as with a real camera.
  gst_rtsp_media_factory_set_shared(factory, TRUE);
  if (!options.user.empty()) require_login(server, factory, options);
  GstRTSPMountPoints* mounts = gst_rtsp_server_get_mount_points(server);
  gst_rtsp_mount_points_add_factory(mounts, options.path.c_str(), factory);
  g_object_unref(mounts);

  if (gst_rtsp_server_attach(server, nullptr) == 0) {
    fail("cannot listen on port " + std::to_string(options.port) + " of 127.0.0.1: is it in use?");
  }
  g_unix_signal_add(SIGTERM, end_loop, loop);
  g_unix_signal_add(SIGINT, end_loop, loop);
  g_timeout_add_seconds(5, remove_dead_sessions, server);
  g_print("{\"url\": \"rtsp://127.0.0.1:%d%s\"}\n", gst_rtsp_server_get_bound_port(server), options.path.c_str());
  g_main_loop_run(loop);
  return 0;
}
