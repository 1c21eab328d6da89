import { RuntimeFault } from "@postern/core";
import { globMatcher } from "../policy/rules/glob.ts";
import type { Offer } from "../tools/tool.ts";
import type { WorkerGroup } from "./options.ts";

type Placeable = Pick<Offer, "tool" | "name" | "facts" | "kind" | "suspends">;

/** Which group runs a tool: by its name or by a permission that it needs. Servers' tools run at their servers. */
export class Placement {
  readonly #groups: readonly { readonly name: string; readonly fits: (tool: Placeable) => boolean }[];

  constructor(groups: Readonly<Record<string, WorkerGroup>>) {
    this.#groups = Object.entries(groups).map(([name, { tools = [], permissions = [] }]) => {
      const byName = tools.map(globMatcher);
      const byPermission = permissions.map(globMatcher);
      const fits = ({ tool, facts }: Placeable): boolean =>
        byName.some((matches) => matches(tool)) ||
        byPermission.some((matches) => facts.permissions.some((permission) => matches(permission)));
      return { name, fits };
    });
  }

  /**
   * Groups by tool.
   *
   * @throws RuntimeFault `options_invalid` for a tool that cannot run on a worker, or that two groups would run
   */
  place(offers: readonly Placeable[]): ReadonlyMap<string, string> {
    const placed = new Map<string, string>();
    for (const offer of offers) {
      if (offer.facts.server !== undefined) continue;
      for (const { name, fits } of this.#groups) {
        if (!fits(offer)) continue;
        const before = placed.get(offer.tool);
        if (before !== undefined && before !== name) throw twice(offer.tool, before, name);
        const problem = problemOf(offer);
        if (problem !== undefined) throw refused(offer.tool, name, problem);
        placed.set(offer.tool, name);
      }
    }
    return placed;
  }
}

/** What a worker cannot do in this version. A tool that makes calls of its own is found when it does. */
function problemOf({ kind, suspends }: Placeable): string | undefined {
  if (kind !== "local") return "its provider defines it";
  return suspends ? "it waits for people while it runs" : undefined;
}

function refused(tool: string, group: string, problem: string): RuntimeFault {
  return new RuntimeFault(
    "options_invalid",
    `\`${tool}\` cannot run on the workers of group \`${group}\`: ${problem}. Leave it out of \`tools\` and \`permissions\` of the group; it then runs at the gateway.`,
  );
}

function twice(tool: string, one: string, other: string): RuntimeFault {
  return new RuntimeFault(
    "options_invalid",
    `\`${tool}\` fits the groups \`${one}\` and \`${other}\` of workers; name it in one of them.`,
  );
}
