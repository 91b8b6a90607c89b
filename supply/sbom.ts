/**
 * Writes the bill of materials of a release (CycloneDX 1.5): npm packages, Debian packages, model weights, base image.
 *
 *   npm run sbom [-- FILE]     default: build/sbom.cdx.json
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { findAllBuiltIn } from "../models/find-card.ts";
import { PLATE_WEIGHTS } from "../models/plates.ts";
import { type DebianPackage, listDebianPackages, listNpmPackages, type NpmPackage } from "./packages.ts";

export interface Component {
  readonly type: "application" | "library" | "machine-learning-model" | "container";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: "SHA-256" | "SHA-512"; readonly content: string }[];
  readonly licenses?: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
}

export interface Bom {
  readonly $schema: string;
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.5";
  readonly serialNumber: string;
  readonly version: number;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export function describeRelease(timestamp: Date): Bom {
  const npm = listNpmPackages();
  const debian = listDebianPackages() ?? [];
  const weights = describeWeights();
  const image = describeImage();
  const [own = fail(), ...packages] = npm;
  const { version } = own;
  const windhover: Component = { type: "application", "bom-ref": "windhover", name: "windhover", version };
  const components = [...packages.map(describeNpm), ...debian.map(describeDebian), ...weights, image];
  const refs = (paths: readonly string[]) =>
    paths.map((path) => npmRef(npm.find((one) => one.path === path) ?? fail())).sort();
  const dependencies = [
    {
      ref: windhover["bom-ref"],
      dependsOn: [
        ...refs(own.dependencies),
        ...debian.map(debianRef),
        ...[...weights, image].map((component) => component["bom-ref"]),
      ],
    },
    ...packages.map((one) => ({ ref: npmRef(one), dependsOn: refs(one.dependencies) })),
    ...debian.map((one) => ({
      ref: debianRef(one),
      dependsOn: one.dependencies.map((name) => debianRef(debian.find((other) => other.name === name) ?? fail())),
    })),
  ];
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    ...{ bomFormat: "CycloneDX", specVersion: "1.5", serialNumber: serialOf(components), version: 1 },
    metadata: { timestamp: timestamp.toISOString(), component: windhover },
    components,
    dependencies,
  };
}

const fail = (): never => {
  throw new Error("package-lock.json refers to a package that it does not contain");
};

/** Derived from the components, so that equal releases have equal serial numbers. */
function serialOf(components: readonly Component[]): string {
  const digest = createHash("sha256").update(JSON.stringify(components)).digest("hex");
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `5${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`];
  return `urn:uuid:${[...parts, digest.slice(20, 32)].join("-")}`;
}

const npmPurl = ({ name, version }: NpmPackage): string => `pkg:npm/${name.replace("@", "%40")}@${version}`;
/** Includes the path: one version may be installed twice. */
const npmRef = (one: NpmPackage): string => `${npmPurl(one)}#${one.path}`;
const debianRef = ({ name, version, architecture }: DebianPackage): string =>
  `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;

function describeNpm(one: NpmPackage): Component {
  const [, sha512 = ""] = /^sha512-(\S+)$/.exec(one.integrity ?? "") ?? [];
  const content = Buffer.from(sha512, "base64").toString("hex");
  return {
    ...{ type: "library", "bom-ref": npmRef(one), name: one.name, version: one.version, purl: npmPurl(one) },
    ...(content !== "" && { hashes: [{ alg: "SHA-512", content }] }),
    ...(one.licence !== null && { licenses: [describeLicence(one.licence)] }),
  };
}

const describeLicence = (text: string) => (/[ ()]/.test(text) ? { expression: text } : { license: { id: text } });

const describeDebian = (one: DebianPackage): Component => ({
  ...{ type: "library", "bom-ref": debianRef(one), name: one.name, version: one.version, purl: debianRef(one) },
});

function describeWeights(): readonly Component[] {
  const cards = findAllBuiltIn().map(({ card }) => ({ name: card.model, ...card }));
  const all = [...cards, ...PLATE_WEIGHTS];
  return all.map(({ name, sha256, licence }) => ({
    ...{ type: "machine-learning-model", "bom-ref": `model:${name}`, name, version: sha256.slice(0, 12) },
    hashes: [{ alg: "SHA-256", content: sha256 }],
    licenses: [describeLicence(licence)],
  }));
}

/** The base image of the Dockerfile, with a digest after docker/pin.sh has run. */
function describeImage(): Component {
  const text = readFileSync(new URL("../docker/Dockerfile", import.meta.url), "utf8");
  const [, name = "", tag = "", digest] =
    /^ARG NODE_IMAGE=([\w./-]+):([\w.-]+)(?:@sha256:([0-9a-f]{64}))?$/m.exec(text) ?? [];
  return {
    ...{ type: "container", "bom-ref": `image:${name}`, name, version: tag },
    ...(digest !== undefined && { hashes: [{ alg: "SHA-256", content: digest }] }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = process.argv[2] ?? fileURLToPath(new URL("../build/sbom.cdx.json", import.meta.url));
  // Reproducible builds set the time of the sources.
  const epoch = Number(process.env.SOURCE_DATE_EPOCH);
  const bom = describeRelease(Number.isInteger(epoch) ? new Date(epoch * 1000) : new Date());
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
  console.log(`${bom.components.length} components: ${file}`);
  if (listDebianPackages() === null) console.error("without Debian packages: this machine has no dpkg");
}
