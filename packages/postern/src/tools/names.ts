import { RuntimeFault, visible } from "@postern/core";
import { type AnyTool, callTypesOf } from "./kinds.ts";
import { publicName } from "./upstream-names.ts";

/** ASCII only, as providers and MCP want it, so a name holds no control and no look-alike letter. Providers allow 64. */
const form = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

/** @throws RuntimeFault `tool_name_invalid` */
export function checkedName(name: unknown, what: "tool" | "action"): string {
  if (typeof name === "string" && form.test(name)) return name;
  throw new RuntimeFault(
    "tool_name_invalid",
    `${visible(name)} cannot be the name of ${what === "tool" ? "a tool" : "an action"}: use 1 to 64 of A-Z a-z 0-9 _ . - and begin with a letter, a digit or _.`,
  );
}

/** Finds names that look alike. */
export class Silhouettes {
  readonly #names = new Map<string, string>();

  /** The last added name that looks like this one. It may be the same name. */
  alike(name: string): string | undefined {
    return this.#names.get(silhouette(name));
  }

  add(name: string): void {
    this.#names.set(silhouette(name), name);
  }

  delete(name: string): void {
    this.#names.delete(silhouette(name));
  }
}

/** A person who approves cannot tell two names with one silhouette apart: `send_mai1` and `send-mail`. */
function silhouette(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replace(/[1i]/g, "l")
    .replaceAll("0", "o")
    .replace(/[_.]/g, "-");
}

/** The names and call types of one registered tool. */
interface NamesOfTool {
  /** The tool's own name, and `tool__action` for each action that is not its only one, as models and MCP clients call it. */
  readonly names: readonly string[];
  /** What its provider calls such calls: `computer_call`. */
  readonly callTypes: readonly string[];
}

/** The names under which tools are called. They are unique also to the eye, so a call never reaches another tool. */
export class TakenNames {
  readonly #silhouettes = new Silhouettes();
  readonly #tools = new Map<string, NamesOfTool>();
  readonly #owners = new Map<string, string>();
  readonly #typeOwners = new Map<string, string>();

  /** @throws RuntimeFault `tool_name_invalid`; then nothing has changed */
  take(tool: AnyTool, actions: readonly { readonly name: string }[], replace = false): void {
    const { name } = tool;
    const own = actions.filter((action) => action.name !== "default").map((action) => action.name);
    const names = [...new Set([name, ...own.flatMap((action) => [`${name}__${action}`, publicName(name, action)])])];
    const callTypes = callTypesOf(tool);
    this.#checkCallTypes(name, callTypes);
    if (this.#tools.has(name) && !replace)
      throw duplicate(
        `A tool named \`${name}\` is registered already; rename one, or register with \`replace: true\`.`,
      );
    for (const one of names) this.#checkName(one, name);
    this.free(name);
    this.#tools.set(name, { names, callTypes });
    for (const one of names) {
      this.#silhouettes.add(one);
      this.#owners.set(one, name);
    }
    for (const type of callTypes) this.#typeOwners.set(type, name);
  }

  free(tool: string): void {
    const { names, callTypes } = this.#tools.get(tool) ?? { names: [], callTypes: [] };
    for (const one of names) {
      this.#silhouettes.delete(one);
      this.#owners.delete(one);
    }
    for (const type of callTypes) this.#typeOwners.delete(type);
    this.#tools.delete(tool);
  }

  /** The provider-defined tool whose calls arrive under this type. */
  ownerOfCallType(type: string): string | undefined {
    return this.#typeOwners.get(type);
  }

  #checkCallTypes(tool: string, types: readonly string[]): void {
    for (const type of types) {
      const owner = this.#typeOwners.get(type);
      if (owner !== undefined && owner !== tool)
        throw duplicate(
          `The call type \`${type}\` of \`${tool}\` belongs to \`${owner}\` already; take it from one of the two tools.`,
        );
    }
  }

  #checkName(name: string, tool: string): void {
    const alike = this.#silhouettes.alike(name);
    const owner = alike === undefined ? undefined : this.#owners.get(alike);
    if (alike === undefined || owner === undefined || owner === tool) return;
    const ours = name === tool ? `\`${name}\`` : `\`${name}\`, an action of \`${tool}\`,`;
    const other = alike === owner ? `\`${alike}\`, which` : `\`${alike}\`, an action of \`${owner}\`, which`;
    throw new RuntimeFault(
      "tool_name_invalid",
      `${ours} looks like ${other} is registered already; a person could take one for the other. Rename it.`,
    );
  }
}

function duplicate(message: string): RuntimeFault {
  return new RuntimeFault("tool_name_invalid", message);
}
