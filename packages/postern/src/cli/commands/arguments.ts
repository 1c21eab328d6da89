import { isJsonObject, type JsonObject, parseStrict } from "@postern/core";
import type { CallFields } from "@postern/core/contract";
import { UsageProblem } from "../usage-problem.ts";

/** Arguments as they are sent: JSON, or texts that Postern reads by the tool's schema. */
export type SentArguments = Pick<CallFields, "arguments" | "text_arguments">;

/** Reads `--args JSON`, or `key=value` words. */
export function argumentsFrom(json: string | undefined, words: readonly string[]): SentArguments {
  if (json !== undefined && words.length > 0)
    throw new UsageProblem("Give the arguments once: as `--args JSON` or as `key=value`, not both.");
  if (json !== undefined) return { arguments: objectOf(json, "--args") };
  const pairs = words.map((word): readonly [string, string] => {
    const split = word.indexOf("=");
    if (split < 1)
      throw new UsageProblem(
        `\`${word}\` is not an argument. Write \`key=value\`, or everything as \`--args '{"key": "value"}'\`.`,
      );
    return [word.slice(0, split), word.slice(split + 1)];
  });
  const twice = pairs.find(([name], i) => pairs.findIndex(([other]) => other === name) !== i);
  if (twice !== undefined)
    throw new UsageProblem(
      `\`${twice[0]}\` is given twice. Keep one; a list is written as JSON: \`${twice[0]}='["a","b"]'\`.`,
    );
  return pairs.length === 0 ? {} : { text_arguments: Object.fromEntries(pairs) };
}

export function objectOf(text: string, flag: string): JsonObject {
  const parsed = parseStrict(text);
  if ("problem" in parsed)
    throw new UsageProblem(
      `\`${flag}\` is not JSON: ${parsed.problem.replace(/\.$/, "")}. Write an object: \`${flag} '{"key": "value"}'\`.`,
    );
  if (!isJsonObject(parsed.value))
    throw new UsageProblem(`\`${flag}\` must be a JSON object: \`${flag} '{"key": "value"}'\`.`);
  return parsed.value;
}
