import type { ApprovalView, OutcomeView } from "@postern/core/contract";
import type { GlobalFlags } from "./host.ts";
import { visible } from "./output/text.ts";

/** The flags that choose the Postern. */
type CommandFlags = {
  readonly [flag in "config" | "data" | "port" | "url" | "tokenFile"]?: GlobalFlags[flag] | undefined;
};

/**
 * How a person types the command here. After `npm start` there is no `postern` on the path. Without the flags of this
 * command the next one would ask another Postern.
 */
export function commandName(flags: CommandFlags): string {
  const name = process.env["npm_lifecycle_event"] === undefined ? "postern" : "npx postern";
  const given = (["config", "data", "port", "url", "tokenFile"] as const).flatMap((flag) => {
    const value = flags[flag];
    return value === undefined ? [] : [flag === "tokenFile" ? "--token-file" : `--${flag}`, quoted(value)];
  });
  return [name, ...given].join(" ");
}

/** For readers who may not see paths: the flags without their values. */
export function withoutValues(command: string): string {
  return command.replaceAll(/ (--[a-z-]+) (?:(?:'[^']*'|\\')+|[^\s']+)/g, " $1 …");
}

/** Replaces `postern …` in a sentence by the command as it is typed here. */
export function asTypedHere(sentence: string, command: string): string {
  return sentence.replaceAll("`postern ", () => `\`${command} `);
}

/** The text of an outcome. Commands in a text of Postern are shown as typed here; a text of the tool stays as it is. */
export function outcomeText({ status, text, refusal }: OutcomeView, command: string): string {
  const isOwn = status === "ok" || status === "preview" || refusal?.code === "tool_failed";
  return isOwn ? text : asTypedHere(text, command);
}

/** As one word of a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The command that approves a request, with every flag without which the decision is refused.
 *
 * @param asShown also if the request must be as it is shown now; an edited one always must
 */
export function approveCommand(
  { approval_id: id, edited, routed, shown_digest: digest, what }: ApprovalView,
  command: string,
  asShown = edited !== undefined,
): string {
  const flags = [
    ...(asShown ? ["--digest", digest] : []),
    ...(routed.typed_confirmation ? ["--confirm", quoted(what.tool)] : []),
  ];
  return [`${command} approvals approve`, quoted(visible(id)), ...flags].join(" ");
}
