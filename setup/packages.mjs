import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { CommandFailure, runCommand } from "./command.mjs";

/** What Debian has to bring, and what for. The only lists of it, with the next two. */
export const RUN_PACKAGES = {
  "gstreamer1.0-tools": "gst-inspect-1.0 and gst-launch-1.0: warm the registry, compare with",
  "gstreamer1.0-plugins-base": "videotestsrc, videoconvert, videoscale, appsrc, parsebin",
  "gstreamer1.0-plugins-good": "rtspsrc, RTP, MP4 and Matroska, JPEG, PNG",
  "gstreamer1.0-plugins-bad": "h264parse, h265parse, rtmp2src, x265enc",
  "gstreamer1.0-plugins-ugly": "x264enc",
  "gstreamer1.0-libav": "software decoders for nearly every codec",
  "gstreamer1.0-rtsp": "rtspclientsink: publishing to an RTSP server",
  "libgstrtspserver-1.0-0": "the RTSP server library",
  "libpangocairo-1.0-0": "text on frames",
  "fonts-dejavu-core": "the font of that text",
  "postgresql-15": "the database, which the server starts by itself",
};

/** What only the addon needs while it is compiled. */
export const BUILD_PACKAGES = {
  "g++": "compiles the addon",
  "pkg-config": "finds the headers and libraries below",
  "libgstreamer1.0-dev": "headers of GStreamer",
  "libgstreamer-plugins-base1.0-dev": "headers of its video, app and pbutils libraries",
  "libgstrtspserver-1.0-dev": "headers of the RTSP server library",
  "libcairo2-dev": "headers for drawing glyphs",
  "libpango1.0-dev": "headers for laying out text",
  "libssl-dev": "headers of OpenSSL 3; the library is the one in Node",
};

export const PACKAGES = { ...RUN_PACKAGES, ...BUILD_PACKAGES };

/** What the tests need besides: 112 MB to fetch. */
export const TEST_PACKAGES = {
  ffmpeg: "publishes to the media server and plays from it; makes and checks files",
  chromium: "plays in a browser, without a screen",
  curl: "makes the calls that the documentation shows",
  mosquitto: "the broker that telemetry comes from",
  python3: "reads files for maps with a parser that is not ours",
};

const NO_CLUSTER = "/etc/postgresql-common/createcluster.d/windhover.conf";
/** Debian asks it before a package starts its service. */
const POLICY = "/usr/sbin/policy-rc.d";

/** What the same comes to on a system without dpkg. */
const PROGRAMS = ["g++", "pkg-config", "gst-inspect-1.0", "postgres"];
const TEST_PROGRAMS = ["ffmpeg", "chromium", "curl", "mosquitto", "python3"];
/** What the addon is compiled and linked with, by the names pkg-config knows. */
export const LIBRARIES = [
  "gstreamer-1.0",
  "gstreamer-base-1.0",
  "gstreamer-video-1.0",
  "gstreamer-app-1.0",
  "gstreamer-pbutils-1.0",
  "gstreamer-rtsp-server-1.0",
  "gio-2.0",
  "cairo",
  "pangocairo",
];
/** What is compiled with, and not linked. */
export const HEADERS = ["libssl"];

/**
 * @param {{ forTests: boolean }} purpose
 * @returns {{ missing: string[], versions: string }} `versions` names everything that is installed, so that a change of
 * it can be noticed; `missing` holds Debian packages, or programs and libraries where there is no dpkg
 */
export function inspectSystem({ forTests } = { forTests: false }) {
  const fields = ["Package", "db:Status-Abbrev", "Version"].map((field) => `\${${field}}`);
  const names = Object.keys(forTests ? { ...PACKAGES, ...TEST_PACKAGES } : PACKAGES);
  const query = spawnSync("dpkg-query", ["--show", `--showformat=${fields.join("\t")}\n`, ...names], {
    encoding: "utf8",
  });
  if (query.error?.code === "ENOENT") return { missing: inspectForeignSystem(forTests), versions: "unknown" };
  if (query.error) throw query.error;
  const rows = query.stdout.split("\n").map((line) => line.split("\t"));
  // The second letter of the state is what is: "ii" installed, "hi" installed and held.
  const installed = new Set(rows.filter(([, state]) => state?.[1] === "i").map(([name]) => name));
  return { missing: names.filter((name) => !installed.has(name)), versions: query.stdout };
}

function inspectForeignSystem(forTests) {
  const answers = (program, args) => spawnSync(program, args, { stdio: "ignore" }).status === 0;
  // Whatever it answers: not all of them know this word.
  const isThere = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
  const programs = [...PROGRAMS, ...(forTests ? TEST_PROGRAMS : [])].filter((program) => !isThere(program));
  if (programs.includes("pkg-config")) return programs;
  return [
    ...programs,
    ...[...LIBRARIES, ...HEADERS].filter((library) => !answers("pkg-config", ["--exists", library])),
  ];
}

/** Installs what is missing, or throws an Error that says exactly what a person has to type. */
export async function installPackages(missing, { onProgress, isHasty = false }) {
  if (spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status !== 0) {
    throw new Error(
      `This system has no apt-get, and these were not found: ${missing.join(", ")}.\n` +
        `Install GStreamer 1.22 or later with its base, good, bad, ugly, libav and RTSP-server parts and their headers,\n` +
        `cairo, pango, headers of OpenSSL 3, g++, pkg-config and PostgreSQL 13 or later (for the tests ffmpeg, chromium and mosquitto, too)\n` +
        `by your system's own means, then start again.`,
    );
  }
  const asRoot = becomeRoot();
  if (asRoot === null) {
    throw new Error(
      `${missing.length} Debian packages are missing, and neither root nor sudo without a password is at hand. Run\n\n` +
        `  sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${missing.join(" ")}\n\n` +
        `and start again.`,
    );
  }
  const run = ([program, ...args], onLine) => runCommand(program, args, { onLine });
  // Waiting for the disk after every file takes a third of the time, and is for machines that lose power.
  const hasty = isHasty ? ["-o", "DPkg::Options::=--force-unsafe-io"] : [];
  const apt = [...asRoot, "apt-get", "--yes", "-o", "DPkg::Lock::Timeout=300", ...hasty];
  // An earlier installation may have been interrupted; without this apt-get refuses to go on.
  await run([...asRoot, "dpkg", "--configure", "-a"]);
  onProgress("reading the package lists");
  // Lists that are there may do even if they cannot be renewed now; if not, installing will say so.
  await run([...apt, "update"]).catch((error) => {
    if (!(error instanceof CommandFailure)) throw error;
  });
  const install = () => run([...apt, "install", "--no-install-recommends", ...missing], followInstallation(onProgress));
  const script = (text) => run([...asRoot, "sh", "-c", text]);
  const files = [];
  // Installing PostgreSQL would make a database for the whole system and start it: not what was asked for.
  if (missing.some((name) => name.startsWith("postgresql-"))) {
    files.push(NO_CLUSTER);
    await run([...asRoot, "mkdir", "--parents", dirname(NO_CLUSTER)]);
    await script(`echo "create_main_cluster = false" > ${NO_CLUSTER}`);
  }
  // The same with a broker. Where there is a policy already, it is the system's own, and stays.
  if (missing.includes("mosquitto") && !existsSync(POLICY)) {
    files.push(POLICY);
    await script(`printf '#!/bin/sh\\nexit 101\\n' > ${POLICY} && chmod 755 ${POLICY}`);
  }
  try {
    await install();
  } finally {
    if (files.length > 0) await run([...asRoot, "rm", "--force", ...files]);
  }
}

/** @returns {string[] | null} what to put before a command to run it as root */
function becomeRoot() {
  const environment = ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"];
  if (process.getuid?.() === 0) return environment;
  const sudo = spawnSync("sudo", ["-n", "true"], { stdio: "ignore" });
  return sudo.status === 0 ? ["sudo", "-n", ...environment] : null;
}

/** Turns apt-get's lines into "fetched 12 of 230", "unpacked …", "set up …". */
function followInstallation(onProgress) {
  let total = "?";
  const counts = { fetched: 0, unpacked: 0, "set up": 0 };
  const count = (what) => {
    counts[what]++;
    onProgress(`${what} ${counts[what]} of ${total}`);
  };
  return (line) => {
    total = /\b(\d+) newly installed/.exec(line)?.[1] ?? total;
    if (line.startsWith("Get:")) count("fetched");
    else if (line.startsWith("Unpacking ")) count("unpacked");
    else if (line.startsWith("Setting up ")) count("set up");
  };
}
