/** Pieces of Cedar text. */

/** A rule that Cedar cannot express exactly. */
export class Unsupported extends Error {}

export function text(value: string): string {
  return `"${escaped(value)}"`;
}

/** Our `*` is Cedar's `*`; everything else stands for itself. */
export function globbed(subject: string, pattern: string): string {
  return pattern.includes("*") ? `${subject} like "${escaped(pattern)}"` : `${subject} == ${text(pattern)}`;
}

/** Cedar knows few escapes, so every other character is written by its number. */
function escaped(value: string): string {
  return Array.from(value, (character) =>
    /[A-Za-z0-9 _.,:;@#$%&()[\]{}<>=+*?!|/~^`'-]/.test(character)
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  ).join("");
}

export function all(parts: readonly string[]): string {
  const needed = parts.filter((part) => part !== "true");
  if (needed.includes("false")) return "false";
  return needed.length === 0 ? "true" : needed.map((part) => `(${part})`).join(" && ");
}

export function any(parts: readonly string[]): string {
  const useful = parts.filter((part) => part !== "false");
  if (useful.includes("true")) return "true";
  return useful.length === 0 ? "false" : useful.map((part) => `(${part})`).join(" || ");
}

export function not(part: string): string {
  if (part === "true") return "false";
  return part === "false" ? "true" : `!(${part})`;
}
