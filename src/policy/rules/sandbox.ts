import { invalid } from "../checking.ts";
import type { Rule } from "./rules.ts";

/**
 * Where a tool's path may lie, whatever the configuration allows (SPEC 5.2, 5.3). The guard beneath a file tool enforces
 * the same on the file system; here it is known before anybody is asked.
 */
export interface SandboxConstraint {
  /** Name or pattern. */
  readonly tool?: string;
  readonly server?: string;
  /** Left out: whatever the tool does. `write` alone constrains no reading. */
  readonly effects?: Rule["effects"];
  /** Path into the arguments, `$.path` for example. */
  readonly argument: string;
  /** Path patterns; outside all of them is denied. An argument that is not there stays with the tool's own default. */
  readonly within: readonly string[];
  readonly relativeTo?: string;
  /** Its place in a file. */
  readonly where?: string;
  /** It may match no tool: nobody is warned. */
  readonly optional?: boolean;
}

/** @throws RuntimeFault `policy_invalid` */
export function sandboxRules(constraints: readonly SandboxConstraint[]): readonly Rule[] {
  if (!Array.isArray(constraints)) throw invalid("`sandbox` is not a list.");
  return constraints.map(
    (
      {
        tool,
        server,
        effects,
        argument,
        within,
        relativeTo,
        where,
        optional: _optional,
        ...strangers
      }: SandboxConstraint,
      i,
    ) => {
      const [stranger] = Object.keys(strangers);
      if (stranger !== undefined)
        throw invalid(
          `\`${stranger}\` of sandbox constraint #${i + 1} is not known; it has tool, server, effects, argument, within, relativeTo, optional.`,
        );
      const inside = { path: within, ...(relativeTo !== undefined && { relativeTo }) };
      const many = String(argument).indexOf("[*]");
      return {
        effect: "deny",
        ...(tool !== undefined && { tool }),
        ...(server !== undefined && { server }),
        ...(effects !== undefined && { effects }),
        arguments:
          many < 0
            ? { [argument]: { present: true, not: inside } }
            : { [argument.slice(0, many)]: { present: true }, [argument]: { not: inside } },
        ...(where !== undefined && { where }),
        reason: `\`${argument}\` must lie within ${within.join(", ") || "nothing"}`,
      };
    },
  );
}
