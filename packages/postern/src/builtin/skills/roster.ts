import { maxDescription, type Skill } from "./skills.ts";

/** For the system prompt. Names and descriptions are escaped, so no skill can end its entry or begin another one. */
export function rosterOf(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const entries = skills.map(
    ({ name, description }) =>
      `  <skill>\n    <name>${escaped(name)}</name>\n    <description>${escaped(shortened(description))}</description>\n  </skill>\n`,
  );
  return `<available_skills>\n${entries.join("")}</available_skills>`;
}

/** One short line, for the roster and lists. */
export function shortened(description: string): string {
  const line = description.replace(/\s+/g, " ").trim();
  if (line.length <= maxDescription) return line;
  return `${line.slice(0, maxDescription - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

const entities: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

/** Characters that XML cannot hold, or that a reader cannot see, are left out. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\uFFFE\uFFFF]/gu, " ")
    .replace(/[&<>"']/g, (character) => entities.get(character) ?? "");
}
