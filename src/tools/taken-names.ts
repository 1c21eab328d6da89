import { RuntimeFault } from "../core/fault.ts";
import { Silhouettes } from "./names.ts";
import type { RegisterOptions } from "./registered.ts";
import { publicName } from "./upstream-names.ts";

/** What a tool is called by: its own name, and one for each action that is not its only one. */
interface NamedActions {
  readonly name: string;
  readonly actions: readonly { readonly name: string }[];
}

/** The names models call tools by, unique also to the eye: a call never leads to another tool than the one that was meant. */
export class TakenNames {
  readonly #taken = new Silhouettes();
  readonly #namesOf = new Map<string, readonly string[]>();
  readonly #ownerOf = new Map<string, string>();

  /** @throws RuntimeFault `tool_duplicate` or `tool_name_confusable`; nothing is taken then */
  take({ name, actions }: NamedActions, { replace = false }: Pick<RegisterOptions, "replace">): void {
    if (this.#namesOf.has(name) && !replace)
      throw new RuntimeFault(
        "tool_duplicate",
        `A tool named \`${name}\` is registered already; rename one, or register with \`replace: true\`.`,
      );
    const names = namesOf(name, actions);
    for (const one of names) {
      const alike = this.#taken.alike(one);
      const owner = alike === undefined ? undefined : this.#ownerOf.get(alike);
      if (alike !== undefined && owner !== undefined && owner !== name) throw confusable(one, name, { alike, owner });
    }
    this.free(name);
    for (const one of names) {
      this.#taken.add(one);
      this.#ownerOf.set(one, name);
    }
    this.#namesOf.set(name, names);
  }

  free(name: string): void {
    for (const one of this.#namesOf.get(name) ?? []) {
      this.#taken.delete(one);
      this.#ownerOf.delete(one);
    }
    this.#namesOf.delete(name);
  }
}

/** An action is called `tool__action`, and over MCP so that every client takes the name. */
function namesOf(tool: string, actions: NamedActions["actions"]): readonly string[] {
  const own = actions.filter(({ name }) => name !== "default");
  return [...new Set([tool, ...own.flatMap(({ name }) => [`${tool}__${name}`, publicName(tool, name)])])];
}

function confusable(
  name: string,
  tool: string,
  { alike, owner }: { readonly alike: string; readonly owner: string },
): RuntimeFault {
  const ours = name === tool ? `\`${name}\`` : `\`${name}\`, an action of \`${tool}\`,`;
  const theirs = alike === owner ? `\`${alike}\`, which` : `\`${alike}\`, an action of \`${owner}\`, which`;
  return new RuntimeFault(
    "tool_name_confusable",
    `${ours} looks like ${theirs} is registered already; a person could take one for the other. Rename it.`,
  );
}
