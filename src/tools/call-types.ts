import { RuntimeFault } from "../core/fault.ts";
import { type AnyTool, callTypesOf } from "./kinds.ts";

/** Which provider-defined tool a call belongs to that arrives under its provider's own type: `computer_call`. */
export class CallTypes {
  readonly #owners = new Map<string, string>();

  /** @throws RuntimeFault `tool_duplicate`: a call of the type could mean either tool */
  check(tool: AnyTool): void {
    for (const type of callTypesOf(tool)) {
      const owner = this.#owners.get(type);
      if (owner === undefined || owner === tool.name) continue;
      throw new RuntimeFault(
        "tool_duplicate",
        `The call type \`${type}\` of \`${tool.name}\` belongs to \`${owner}\` already; take it from one of the two tools.`,
      );
    }
  }

  take(tool: AnyTool): void {
    this.free(tool.name);
    for (const type of callTypesOf(tool)) this.#owners.set(type, tool.name);
  }

  free(name: string): void {
    for (const [type, owner] of this.#owners) if (owner === name) this.#owners.delete(type);
  }

  ownerOf(type: string): string | undefined {
    return this.#owners.get(type);
  }
}
