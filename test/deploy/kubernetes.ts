/** The manifests in deploy/kubernetes, and a check of manifests against the types that are generated from Kubernetes' schemas. */
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const FOLDER = join(ROOT, "deploy/kubernetes");
export const read = (path: string): string => readFileSync(join(FOLDER, path), "utf8");

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: checked by the compiler, below.
  readonly [name: string]: any;
}

export const readManifests = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS());

export const kustomization = parse(read("kustomization.yaml")) as {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string }[];
};

/**
 * The compiler's messages. Types and not a JSON Schema validator: packages with validators accept unknown fields, while the
 * compiler rejects them at every level of an object literal.
 */
export function checkTypes(manifests: readonly Manifest[], folder: string): readonly string[] {
  const lines = manifests.map((manifest, index) => {
    const module = manifest.apiVersion.includes("/") ? manifest.apiVersion : `core/${manifest.apiVersion}`;
    const type = `import("kubernetes-types/${module}").${manifest.kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(manifest, null, 2)};`;
  });
  writeFileSync(join(folder, "manifests.ts"), lines.join("\n"));
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"];
  try {
    execFileSync(join(ROOT, "node_modules/.bin/tsc"), [...options, "--types", "", "manifests.ts"], {
      ...{ cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
    });
    return [];
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    const messages = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("error"));
    if (messages.length === 0) throw error;
    return messages;
  }
}
