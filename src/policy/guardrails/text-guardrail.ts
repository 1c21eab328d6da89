import { globMatcher } from "../rules/glob.ts";
import { type ArgumentSays, type GuardedCall, type Guardrail, invalid, type ResultSays } from "./guardrails.ts";

/** What the built-in guardrails have in common. */
export interface TextGuardrailOptions {
  readonly on?: "arguments" | "result";
  readonly says?: ArgumentSays | ResultSays;
  /** Which tools; `*` stands for anything. Left out: all. */
  readonly tools?: readonly string[];
  readonly onFailure?: "open" | "closed";
}

interface TextSearch {
  readonly name: string;
  readonly on: "arguments" | "result";
  readonly says: ArgumentSays | ResultSays;
  readonly ready?: () => Promise<void>;
  /** Why the text is a finding, one sentence each. */
  readonly find: (text: string) => readonly string[];
}

/** A longer text counts as a failure, because a part of it could hide what is looked for. UTF-16 units. */
export const longestText = 1_000_000;

/** @throws RuntimeFault `guardrail_invalid` */
export function textGuardrail({ name, on, says, ready, find }: TextSearch, options: TextGuardrailOptions): Guardrail {
  const allowed: readonly unknown[] = on === "arguments" ? ["DENY", "CONFIRM", "RAISE"] : ["WITHHOLD", "MARK"];
  if (on !== "arguments" && on !== "result")
    throw invalid(`\`on\` of guardrail \`${name}\` is \`${String(on)}\`; it is arguments or result.`);
  if (!allowed.includes(says))
    throw invalid(
      `\`says\` of guardrail \`${name}\` is \`${String(says)}\`; on ${on} it is one of ${allowed.join(", ")}.`,
    );
  const { tools, onFailure } = options;
  const fits = tools?.map(globMatcher);
  const check = ({
    tool,
    text,
  }: GuardedCall & { readonly text: string }): readonly { says: typeof says; why: string }[] => {
    if (fits?.some((matches) => matches(tool)) === false) return [];
    if (text.length > longestText)
      throw new RangeError(`the text has ${text.length} characters, more than ${longestText}`);
    return find(text).map((why) => ({ says, why }));
  };
  return {
    ...{ name, on, check },
    ...(ready !== undefined && { ready }),
    ...(tools !== undefined && { tools }),
    ...(onFailure !== undefined && { onFailure }),
  } as Guardrail; // `says` fits `on`: checked above
}
