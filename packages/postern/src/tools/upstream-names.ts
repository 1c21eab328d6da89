import { RuntimeFault } from "@postern/core";
import { sha256 } from "@postern/core/system";

/** The longest tool name that every provider accepts. */
const longest = 64;

export const serverNamePattern: RegExp = /^[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_|$)){0,31}$/;

/**
 * Checks a server's id. The operator chooses it, never the server. It has no `__`, so that two pairs of id and tool
 * cannot form the same name.
 *
 * @throws RuntimeFault `options_invalid`
 */
export function checkServerName(name: string): void {
  if (!serverNamePattern.test(name)) {
    throw new RuntimeFault(
      "options_invalid",
      `\`${name.slice(0, 80)}\` cannot name a server: use 1 to 32 letters, digits, - and single _ inside.`,
    );
  }
}

/**
 * The public name of a server's tool: `<server>__<tool>`. A name with other characters, or too long a name, ends in
 * eight hex digits of its digest, so that two names never become one. The text cannot be converted back; keep a table.
 */
export function publicName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  const clean = plain.replace(/[^A-Za-z0-9_-]/g, "_");
  if (clean === plain && plain.length <= longest) return plain;
  return `${clean.slice(0, longest - 9)}_${sha256(`${server}\n${tool}`).slice(0, 8)}`;
}
