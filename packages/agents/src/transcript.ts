import type { AgentMessage } from "./model.ts";

/** A message of a run as Markdown, for people. */
export function transcriptOf(message: AgentMessage): string {
  switch (message.role) {
    case "user":
      return section("user", [message.text]);
    case "assistant":
      return section("assistant", [
        message.text,
        ...message.uses.map(({ name, arguments: given }) => `calls \`${name}\` ${inJson(given)}`),
      ]);
    case "tool":
      return message.answers.map(({ use, text }) => section(`tool \`${use.name}\``, [text])).join("");
  }
}

function section(title: string, parts: readonly string[]): string {
  return `## ${title}\n\n${parts.filter((part) => part !== "").join("\n\n")}\n\n`;
}

function inJson(given: unknown): string {
  return typeof given === "string" ? given : JSON.stringify(given ?? {});
}
