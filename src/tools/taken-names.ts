import { RuntimeFault } from "../calls/fault.ts";
import { Silhouettes } from "./names.ts";
import type { RegisterOptions } from "./registered.ts";

/** The names of the tools there are, unique also to the eye. */
export class TakenNames {
  readonly #taken = new Silhouettes();

  /** @throws RuntimeFault `tool_duplicate` or `tool_name_confusable`; nothing is taken then */
  take(name: string, { replace = false }: Pick<RegisterOptions, "replace">): void {
    const alike = this.#taken.alike(name);
    if (alike === name && !replace)
      throw new RuntimeFault(
        "tool_duplicate",
        `A tool named \`${name}\` is registered already; rename one, or register with \`replace: true\`.`,
      );
    if (alike !== undefined && alike !== name)
      throw new RuntimeFault(
        "tool_name_confusable",
        `\`${name}\` looks like \`${alike}\`, which is registered already; a person could take one for the other. Rename it.`,
      );
    this.#taken.add(name);
  }

  free(name: string): void {
    this.#taken.delete(name);
  }
}
