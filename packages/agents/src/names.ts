import { createHash } from "node:crypto";

/** The names that a provider accepts. */
export interface NameRule {
  /** Matches one character that the provider does not accept. */
  readonly forbidden: RegExp;
  /** In characters. */
  readonly maxLength: number;
  /** Whether it may begin with a digit or a sign. Default: false. */
  readonly anyStart?: true;
}

/** The names that OpenAI, Anthropic and the agent libraries accept. They are valid for Gemini too. */
export const commonNames: NameRule = { forbidden: /[^A-Za-z0-9_-]/g, maxLength: 64 };

const digestLength = 8;

/**
 * A name that the provider accepts. A valid name stays unchanged. Any other is rewritten and ends with eight hex digits
 * of its SHA-256, so that two different names stay different and a restart gives the same name again.
 */
export function providerName(name: string, { forbidden, maxLength, anyStart }: NameRule = commonNames): string {
  const safe = name.replace(forbidden, "_");
  const startsWell = anyStart === true || /^[A-Za-z_]/.test(safe);
  if (safe === name && startsWell && name !== "" && name.length <= maxLength) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, digestLength);
  const head = (startsWell ? safe : `t_${safe}`).slice(0, maxLength - digestLength - 1);
  return `${head}_${digest}`;
}

/** The name under which a model calls one action of a tool. */
export function modelName({ tool, name }: { readonly tool: string; readonly name: string }, names?: NameRule): string {
  return providerName(name === "default" ? tool : `${tool}__${name}`, names);
}
