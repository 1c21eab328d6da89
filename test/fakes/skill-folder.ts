import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes `FOLDER/NAME/SKILL.md` and the skill's other files. */
export function writeSkill(
  folder: string,
  name: string,
  text: string | Uint8Array,
  more: Readonly<Record<string, string | Uint8Array>> = {},
): string {
  for (const [path, content] of Object.entries({ "SKILL.md": text, ...more })) {
    const file = join(folder, name, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return join(folder, name);
}

/** Returns a SKILL.md with these lines of front matter. */
export function skillText(head: string, body = "# Heading\n\nDo it."): string {
  return `---\n${head}\n---\n${body}\n`;
}
