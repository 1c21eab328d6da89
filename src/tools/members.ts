import type { Risk } from "../core/call.ts";
import { RuntimeFault } from "../core/fault.ts";
import { parseRisk } from "../core/risk.ts";
import type { ToolFacts } from "../policy/policy.ts";
import { visible } from "./names.ts";
import type { ToolType } from "./tool.ts";

const effects: readonly ToolFacts["effects"][] = ["read", "write", "destructive"];
const toolTypes: readonly ToolType[] = ["FUNCTION", "SKILL", "MCP", "A2A", "KNOWLEDGE", "CONNECTOR", "PIPELINE"];

/** Reads what a tool's author (or an operator) stated. What is missing or wrong is a fault that names the tool, the member and the fix (D11). */
export class Members {
  readonly whose: string;

  /** @param whose `tool`, or `tool.action` */
  constructor(whose: string) {
    this.whose = whose;
  }

  refuse(member: string, problem: string): never {
    throw new RuntimeFault("tool_incomplete", `Tool ${visible(this.whose)}: \`${member}\` ${problem}`);
  }

  risk(given: unknown): Risk {
    const risk = parseRisk(given);
    if (risk !== undefined) return risk;
    const stated = given === undefined ? "is missing" : `is ${visible(given)}`;
    return this.refuse(
      "risk",
      `${stated}; state one of safe, medium, high, critical (a bare object can be taken with legacyTool()).`,
    );
  }

  idempotent(given: unknown): boolean {
    if (typeof given === "boolean") return given;
    return this.refuse("idempotent", "must be true (running it twice is like running it once) or false.");
  }

  flag(member: string, given: unknown, otherwise = false): boolean {
    if (given === undefined) return otherwise;
    return typeof given === "boolean" ? given : this.refuse(member, "must be true or false.");
  }

  effects(given: unknown, risk: Risk): ToolFacts["effects"] {
    if (given === undefined) return risk === "safe" ? "read" : "write";
    return (
      effects.find((effect) => effect === given) ??
      this.refuse("effects", `is ${visible(given)}; it must be read, write or destructive.`)
    );
  }

  toolType(given: unknown): ToolType {
    if (given === undefined) return "FUNCTION";
    return (
      toolTypes.find((type) => type === given) ??
      this.refuse("toolType", `is ${visible(given)}; it must be one of ${toolTypes.join(", ")}.`)
    );
  }

  milliseconds(member: string, given: unknown): number | undefined {
    if (given === undefined) return undefined;
    return typeof given === "number" && Number.isSafeInteger(given) && given > 0
      ? given
      : this.refuse(member, "must be a whole number of milliseconds above 0.");
  }

  /** Each once, in their order. */
  texts(member: string, ...lists: readonly unknown[]): readonly string[] {
    const all = new Set<string>();
    for (const list of lists) {
      if (list === undefined) continue;
      if (!Array.isArray(list)) this.refuse(member, "must be a list of texts.");
      for (const text of list)
        all.add(
          typeof text === "string" && text !== "" ? text : this.refuse(member, "must hold only non-empty texts."),
        );
    }
    return Object.freeze([...all]);
  }

  text(member: string, given: unknown): string {
    return typeof given === "string" ? given : this.refuse(member, "must be a text.");
  }
}
