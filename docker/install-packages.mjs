/** Installs the Debian packages for running, without those for compiling. */
import { installPackages, RUN_PACKAGES } from "../setup/packages.mjs";

await installPackages(Object.keys(RUN_PACKAGES), { onProgress: console.log });
