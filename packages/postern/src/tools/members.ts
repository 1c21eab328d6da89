import { insteadOf, parseRisk, type Risk, RuntimeFault, visible } from "@postern/core";
import type { ToolFacts } from "../policy/policy.ts";
import type { ToolType } from "./tool.ts";

const effects: readonly ToolFacts["effects"][] = ["read", "write", "destructive"];
const toolTypes: readonly ToolType[] = ["FUNCTION", "SKILL", "MCP", "A2A", "KNOWLEDGE", "CONNECTOR", "PIPELINE"];

/** Reads what a tool's author or an operator states. A missing or wrong member is a fault with the tool, the member and the fix. */
export class Members {
  readonly whose: string;

  /** @param whose `tool`, or `tool.action` */
  constructor(whose: string) {
    this.whose = whose;
  }

  refuse(member: string, problem: string): never {
    throw new RuntimeFault("options_invalid", `Tool ${visible(this.whose)}: \`${member}\` ${problem}`);
  }

  risk(value: unknown): Risk {
    const level = parseRisk(value);
    if (level !== undefined) return level;
    if (value !== undefined) return this.refuse("risk", `is ${visible(value)}; ${insteadOf(value)}.`);
    const fix = "write one of safe, medium, high, critical (a bare object can be taken with legacyTool()).";
    return this.refuse("risk", `is missing; ${fix}`);
  }

  idempotent(value: unknown): boolean {
    if (typeof value === "boolean") return value;
    return this.refuse("idempotent", "must be true (running it twice is like running it once) or false.");
  }

  flag(member: string, value: unknown, fallback = false): boolean {
    if (value === undefined) return fallback;
    return typeof value === "boolean" ? value : this.refuse(member, "must be true or false.");
  }

  effects(value: unknown, risk: Risk): ToolFacts["effects"] {
    if (value === undefined) return risk === "safe" ? "read" : "write";
    const found = effects.find((effect) => effect === value);
    return found ?? this.refuse("effects", `is ${visible(value)}; it must be read, write or destructive.`);
  }

  toolType(value: unknown = "FUNCTION"): ToolType {
    const found = toolTypes.find((type) => type === value);
    return found ?? this.refuse("toolType", `is ${visible(value)}; it must be one of ${toolTypes.join(", ")}.`);
  }

  milliseconds(member: string, value: unknown): number | undefined {
    if (value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value > 0)) return value;
    return this.refuse(member, "must be a whole number of milliseconds above 0.");
  }

  /** Each text once, in their order. */
  texts(member: string, ...lists: readonly unknown[]): readonly string[] {
    const all = lists.flatMap((list = []): readonly unknown[] =>
      Array.isArray(list) ? list : this.refuse(member, "must be a list of texts."),
    );
    const isFilled = (text: unknown): text is string => typeof text === "string" && text !== "";
    if (!all.every(isFilled)) return this.refuse(member, "must hold only non-empty texts.");
    return Object.freeze([...new Set(all)]);
  }

  text(member: string, value: unknown): string {
    return typeof value === "string" ? value : this.refuse(member, "must be a text.");
  }
}
