/** Modules of this program that elements outside of it import. */
type Namespace = Readonly<Record<string, unknown>>;

export const HOST_MODULES: Readonly<Record<string, () => Promise<Namespace>>> = {
  "@windhover/element": () => import("./public.ts"),
  typebox: () => import("typebox"),
};

export async function hostNames(module: string): Promise<readonly string[]> {
  return Object.keys((await HOST_MODULES[module]?.()) ?? {});
}

/** All of them, by name. */
export async function loadHostModules(): Promise<Readonly<Record<string, Namespace>>> {
  const loaded = Object.entries(HOST_MODULES).map(async ([name, load]) => [name, await load()] as const);
  return Object.fromEntries(await Promise.all(loaded));
}
