/** `elements.watch`: builds changed elements of the operator again. Runners and compile threads read the result. */
import type { Logger } from "pino";
import { stopBuilding } from "../../elements/build.ts";
import { explainElement, type LoadedElements, refreshElements } from "../../elements/index.ts";
import { findOutside, storeOutside } from "../../elements/outside.ts";
import { FileWatch } from "../../graphs/runtime/file-watch.ts";
import type { Folders } from "../../schemas/folders.ts";

/** Returns the function that ends it. `elements` are those of the server, which describes them to clients. */
export async function watchElements(
  folders: Folders & { readonly built: string },
  elements: LoadedElements,
  log: Logger,
): Promise<() => void> {
  const found = await findOutside({ ...folders, built: null });
  // Builds list the files they read.
  const files = () => found.flatMap((element) => element.files());
  const build = async (): Promise<void> => {
    for (const { element, error } of await storeOutside(found, folders.built)) {
      const { name, place, reason } = explainElement(element, error);
      log.warn({ element: name, place, reason }, "element not reloaded");
    }
    for (const { name } of await refreshElements(elements)) log.info({ element: name }, "element rebuilt");
    await stopBuilding();
    watch.follow(files());
  };
  let building = Promise.resolve();
  const watch = new FileWatch(() => {
    building = building.then(build).catch((error: Error) => log.error({ err: error }, "elements not rebuilt"));
  });
  await build();
  return () => watch.close();
}
