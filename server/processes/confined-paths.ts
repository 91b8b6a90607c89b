/** What confined children may open of the machine: all that our programs and their libraries need, and no user's data. */
import { readdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));

/** Single files of /etc: others there hold secrets. */
const SYSTEM = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/var/cache/fontconfig"],
  ...["/etc/alternatives", "/etc/fonts", "/etc/ssl", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime"],
  ...["/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"],
  ...["/etc/protocols", "/etc/passwd", "/etc/group", "/etc/os-release", "/etc/debian_version", "/etc/drirc"],
  ...["/etc/OpenCL", "/etc/glvnd", "/etc/vulkan", "/run/systemd/resolve", "/run/resolvconf"],
];

const DEVICES = /^(null|zero|full|random|urandom|dri|dma_heap|(video|media|nvidia|nvhost|nvmap|mali|rga|vpu|mpp).*)$/;

/** Where libraries of the machine's user are looked for. */
const LIBRARY_VARIABLES = ["GST_PLUGIN_PATH", "GST_PLUGIN_PATH_1_0", "GST_PLUGIN_SYSTEM_PATH_1_0", "LD_LIBRARY_PATH"];
const OF_USER = [".local/share/gstreamer-1.0", ".cache/gstreamer-1.0", ".fonts", ".local/share/fonts"];

/** Those that do not exist are harmless. */
export async function listReadable(dataDir: string): Promise<readonly string[]> {
  const { env } = process;
  return [
    ...SYSTEM,
    process.execPath,
    ...OF_USER.map((path) => join(homedir(), path)),
    ...[env.GST_REGISTRY_1_0, env.GST_REGISTRY].filter((path) => path !== undefined),
    ...(env.XDG_CACHE_HOME ? [join(env.XDG_CACHE_HOME, "gstreamer-1.0")] : []),
    ...LIBRARY_VARIABLES.flatMap((name) => env[name]?.split(delimiter).filter((path) => path.startsWith("/")) ?? []),
    ...(await listCheckout(dataDir)),
  ];
}

export async function listDevices(): Promise<readonly string[]> {
  const names = await readdir("/dev");
  return names.filter((name) => DEVICES.test(name)).map((name) => join("/dev", name));
}

/** Its folders and package.json. Not hidden ones, nor settings, nor the data: all of these may lie in it. */
async function listCheckout(dataDir: string): Promise<readonly string[]> {
  const data = await realpath(dataDir).catch(() => resolve(dataDir));
  const isData = (path: string) => !relative(path, data).startsWith("..");
  const entries = await readdir(CHECKOUT, { withFileTypes: true });
  const folders = entries.filter((entry) => !entry.isFile() && !entry.name.startsWith(".") && entry.name !== "data");
  const addon = process.env.WINDHOVER_ADDON ?? join(CHECKOUT, "build/windhover.node");
  const elements = await readdir(join(CHECKOUT, "elements"), { withFileTypes: true });
  const links = elements.filter((entry) => entry.isSymbolicLink());
  return [
    ...folders.map(({ name }) => join(CHECKOUT, name)).filter((path) => !isData(path)),
    join(CHECKOUT, "package.json"),
    // Either may be a link to somewhere else.
    addon,
    ...links.map(({ name }) => join(CHECKOUT, "elements", name)),
  ];
}
