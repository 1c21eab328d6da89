import { RuntimeFault } from "../core/fault.ts";

/**
 * ASCII only, as the providers and MCP want it: no control, bidirectional or look-alike letter of another script can be
 * in a name. 64 is the providers' limit.
 */
const form = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

/** @throws RuntimeFault `tool_name_invalid` */
export function checkedName(name: unknown, what: "tool" | "action"): string {
  if (typeof name === "string" && form.test(name)) return name;
  throw new RuntimeFault(
    "tool_name_invalid",
    `${visible(name)} cannot be the name of ${what === "tool" ? "a tool" : "an action"}: use 1 to 64 of A-Z a-z 0-9 _ . - and begin with a letter, a digit or _.`,
  );
}

/** Names as the eye takes them: of two that look alike, the one that was added last. */
export class Silhouettes {
  readonly #names = new Map<string, string>();

  /** The name that looks like this one; it may be the same. */
  alike(name: string): string | undefined {
    return this.#names.get(silhouette(name));
  }

  add(name: string): void {
    this.#names.set(silhouette(name), name);
  }

  delete(name: string): void {
    this.#names.delete(silhouette(name));
  }
}

/** Two names with the same silhouette are not told apart by a person who approves: `send_mai1` and `send-mail`. */
function silhouette(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replace(/[1i]/g, "l")
    .replaceAll("0", "o")
    .replace(/[_.]/g, "-");
}

/** A name as it can be shown safely: everything but printable ASCII is spelled out. */
export function visible(name: unknown): string {
  if (typeof name !== "string") return `A ${name === null ? "null" : typeof name}`;
  const spelled = [...name.slice(0, 100)].map((letter) => {
    const point = letter.codePointAt(0) ?? 0;
    return point >= 0x20 && point < 0x7f && letter !== "`" ? letter : `\\u{${point.toString(16)}}`;
  });
  return `\`${spelled.join("")}\``;
}
