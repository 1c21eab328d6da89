import { RuntimeFault } from "../core/fault.ts";
import { sha256 } from "../core/json.ts";

/** The longest tool name every provider takes. */
const longest = 64;

export const serverNamePattern: RegExp = /^[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_|$)){0,31}$/;

/**
 * A server's id: chosen by the operator, never by the server. Without `__`, so that no two ids and tools can spell one name.
 *
 * @throws RuntimeFault `server_name_invalid`
 */
export function checkServerName(name: string): void {
  if (!serverNamePattern.test(name)) {
    throw new RuntimeFault(
      "server_name_invalid",
      `\`${name.slice(0, 80)}\` cannot name a server: use 1 to 32 letters, digits, - and single _ inside.`,
    );
  }
}

/**
 * What a server's tool is called here: `<server>__<tool>`. A name with other characters, or too long, ends in eight hex
 * digits of its digest, so that two of them never become one. There is no way back from the text: keep a table.
 */
export function publicName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  const clean = plain.replace(/[^A-Za-z0-9_-]/g, "_");
  if (clean === plain && plain.length <= longest) return plain;
  return `${clean.slice(0, longest - 9)}_${sha256(`${server}\n${tool}`).slice(0, 8)}`;
}
