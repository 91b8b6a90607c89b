import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { CommandFailure, runCommand } from "./command.mjs";

/** Debian packages with their purpose. This list and the next two are the only ones. */
export const RUN_PACKAGES = {
  "gstreamer1.0-tools": "gst-inspect-1.0 and gst-launch-1.0: plugin registry, comparison in benchmarks",
  "gstreamer1.0-plugins-base": "videotestsrc, videoconvert, videoscale, appsrc, parsebin",
  "gstreamer1.0-plugins-good": "rtspsrc, RTP, MP4 and Matroska, JPEG, PNG",
  "gstreamer1.0-plugins-bad": "h264parse, h265parse, rtmp2src, x265enc",
  "gstreamer1.0-plugins-ugly": "x264enc",
  "gstreamer1.0-libav": "software decoders for nearly every codec",
  "gstreamer1.0-rtsp": "rtspclientsink: publishing to an RTSP server",
  "libgstrtspserver-1.0-0": "the RTSP server library",
  "libsrt1.5-gnutls": "SRT, the same library that GStreamer's plugin uses",
  "libpangocairo-1.0-0": "text on frames",
  "fonts-dejavu-core": "the font of that text",
  "postgresql-15": "the database, which the server starts itself",
};

/** Only needed to compile the addon. */
export const BUILD_PACKAGES = {
  "g++": "compiles the addon",
  "pkg-config": "finds the headers and libraries below",
  "libgstreamer1.0-dev": "headers of GStreamer",
  "libgstreamer-plugins-base1.0-dev": "headers of its video, app and pbutils libraries",
  "libgstrtspserver-1.0-dev": "headers of the RTSP server library",
  "libcairo2-dev": "headers for drawing glyphs",
  "libpango1.0-dev": "headers for laying out text",
  "libssl-dev": "headers of OpenSSL 3; the library is the one in Node",
  "libsrt-gnutls-dev": "headers of SRT",
};

export const PACKAGES = { ...RUN_PACKAGES, ...BUILD_PACKAGES };

/** Only needed by the tests: 112 MB to download. */
export const TEST_PACKAGES = {
  ffmpeg: "publishes to the media server and plays from it; creates and checks files",
  "chromium-headless-shell": "browser for player and console tests, without windows",
  curl: "runs the calls in the documentation",
  haproxy: "checks the load balancer's configuration, and balances several nodes",
  mosquitto: "MQTT broker for telemetry and alerts",
  pgbouncer: "connection pooler in front of the database",
  python3: "parses exported map files independently; runs the Python client",
  "python3-httpx": "HTTP of the Python client",
  "python3-websockets": "websockets of the Python client",
  "srt-tools": "srt-live-transmit: publishes and plays by SRT",
};

const NO_CLUSTER = "/etc/postgresql-common/createcluster.d/windhover.conf";
/** Debian runs it before a package starts its service. */
const POLICY = "/usr/sbin/policy-rc.d";

/** Programs to check for on a system without dpkg. */
const PROGRAMS = ["g++", "pkg-config", "gst-inspect-1.0", "postgres"];
const TEST_PROGRAMS = [
  "ffmpeg",
  "chromium",
  "curl",
  "haproxy",
  "mosquitto",
  "pgbouncer",
  "python3",
  "srt-live-transmit",
];
/** Packages that start a service when they are installed. */
const STARTING = ["haproxy", "mosquitto", "pgbouncer"];
/** Libraries that the addon is compiled and linked with, by their pkg-config names. */
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
/** Of the addon for SRT. */
export const SRT_LIBRARIES = ["srt"];
/** Libraries of which only the headers are used. */
export const HEADERS = ["libssl"];

/**
 * @param {{ forTests: boolean }} purpose
 * @returns {{ missing: string[], versions: string }} `versions` describes all installed packages, to detect changes;
 * `missing` lists Debian packages, or programs and libraries on a system without dpkg
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
  // The second letter is the current state: "ii" installed, "hi" installed and held.
  const installed = new Set(rows.filter(([, state]) => state?.[1] === "i").map(([name]) => name));
  return { missing: names.filter((name) => !installed.has(name)), versions: query.stdout };
}

function inspectForeignSystem(forTests) {
  const succeeds = (program, args) => spawnSync(program, args, { stdio: "ignore" }).status === 0;
  // The exit code does not matter: not all programs know this option.
  const isInstalled = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
  const programs = [...PROGRAMS, ...(forTests ? TEST_PROGRAMS : [])].filter((program) => !isInstalled(program));
  if (programs.includes("pkg-config")) return programs;
  return [
    ...programs,
    ...[...LIBRARIES, ...SRT_LIBRARIES, ...HEADERS].filter((library) => !succeeds("pkg-config", ["--exists", library])),
  ];
}

/** Installs missing packages, or throws an Error with the command that the user has to run. */
export async function installPackages(missing, { onProgress, isHasty = false }) {
  if (spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status !== 0) {
    throw new Error(
      `This system has no apt-get, and these are missing: ${missing.join(", ")}.\n` +
        `Install GStreamer 1.22 or later with its base, good, bad, ugly, libav and RTSP-server parts and their headers,\n` +
        `cairo, pango, libsrt 1.5 and their headers, headers of OpenSSL 3, g++, pkg-config and PostgreSQL 13 or later (for the tests ffmpeg, chromium, haproxy, mosquitto and pgbouncer, too)\n` +
        `with your system's package manager, then run this again.`,
    );
  }
  const asRoot = becomeRoot();
  if (asRoot === null) {
    throw new Error(
      `${missing.length} Debian packages are missing, and installing them needs root or sudo without a password. Run\n\n` +
        `  sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${missing.join(" ")}\n\n` +
        `and then this again.`,
    );
  }
  const run = ([program, ...args], onLine) => runCommand(program, args, { onLine });
  // Syncing every file to disk takes a third of the time; it only protects against power loss.
  const hasty = isHasty ? ["-o", "DPkg::Options::=--force-unsafe-io"] : [];
  const apt = [...asRoot, "apt-get", "--yes", "-o", "DPkg::Lock::Timeout=300", ...hasty];
  // After an interrupted installation apt-get fails without this.
  await run([...asRoot, "dpkg", "--configure", "-a"]);
  onProgress("reading the package lists");
  // Existing lists may suffice if the update fails; otherwise the installation fails and reports it.
  await run([...apt, "update"]).catch((error) => {
    if (!(error instanceof CommandFailure)) throw error;
  });
  const install = () => run([...apt, "install", "--no-install-recommends", ...missing], followInstallation(onProgress));
  const script = (text) => run([...asRoot, "sh", "-c", text]);
  const files = [];
  // By default PostgreSQL's package creates and starts a database cluster of the system.
  if (missing.some((name) => name.startsWith("postgresql-"))) {
    files.push(NO_CLUSTER);
    await run([...asRoot, "mkdir", "--parents", dirname(NO_CLUSTER)]);
    await script(`echo "create_main_cluster = false" > ${NO_CLUSTER}`);
  }
  // An existing policy belongs to the system and stays.
  if (missing.some((name) => STARTING.includes(name)) && !existsSync(POLICY)) {
    files.push(POLICY);
    await script(`printf '#!/bin/sh\\nexit 101\\n' > ${POLICY} && chmod 755 ${POLICY}`);
  }
  try {
    await install();
  } finally {
    if (files.length > 0) await run([...asRoot, "rm", "--force", ...files]);
  }
}

/** @returns {string[] | null} the prefix that runs a command as root */
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
