import type { OutcomeView } from "../server/contract/outcome.ts";
import type { GlobalFlags } from "./host.ts";

/** The flags that say which Postern is meant. */
type CommandFlags = { readonly [flag in "config" | "data" | "port"]?: GlobalFlags[flag] | undefined };

/**
 * How a person types the command here: after `npm start` there is no `postern` on the path, and without the flags that
 * were given now the next command would ask another Postern.
 */
export function commandName(flags: CommandFlags): string {
  const name = process.env["npm_lifecycle_event"] === undefined ? "postern" : "npx postern";
  const given = (["config", "data", "port"] as const).flatMap((flag) => {
    const value = flags[flag];
    return value === undefined ? [] : [`--${flag}`, quoted(value)];
  });
  return [name, ...given].join(" ");
}

/** For whoever may not know where things lie: which flags belong to it, and not what they say. */
export function withoutValues(command: string): string {
  return command.replaceAll(/ (--[a-z]+) (?:(?:'[^']*'|\\')+|[^\s']+)/g, " $1 …");
}

/** What a sentence of ours says of `postern …`, as it is typed here. */
export function asTypedHere(sentence: string, command: string): string {
  return sentence.replaceAll("`postern ", () => `\`${command} `);
}

/** What a call came to: in our words as they are typed here, or in the tool's own, which stay as they are. */
export function outcomeText({ status, text, refusal }: OutcomeView, command: string): string {
  const isOwn = status === "ok" || status === "preview" || refusal?.code === "tool_failed";
  return isOwn ? text : asTypedHere(text, command);
}

/** As one word of a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
