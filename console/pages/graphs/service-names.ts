/** The names that the service knows, for completion in the editor: fetched when they are needed, once. */
import type { Element, Graph } from "../../../client/client.ts";
import { windhover } from "../../session.ts";
import type { KnownNames } from "./complete.ts";

export class ServiceNames implements KnownNames {
  elements: KnownNames["elements"] = [];
  readonly params: readonly string[];
  readonly #described = new Map<string, Promise<Element | null>>();

  constructor({ params }: Pick<Graph, "params">) {
    this.params = Object.keys((params.properties ?? {}) as object);
    // Without it, other names are completed all the same.
    windhover.listElements({}).then(
      ({ elements }) => {
        this.elements = elements;
      },
      () => {},
    );
  }

  describe(name: string): Promise<Element | null> {
    const found = this.#described.get(name) ?? windhover.getElement({ name }).catch(() => null);
    this.#described.set(name, found);
    return found;
  }
}
