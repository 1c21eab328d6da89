/**
 * What a script hands over in a call itself. Such a value is held, sorted, digested and checked as a whole by whoever runs
 * the script, while everybody else waits; by reference it is bytes in a store. How long they wait is said by its bytes and,
 * for a value of many small ones, by how many they are.
 */
import type { AskedCall } from "./sandbox.ts";

export const usualArgumentBytes: number = 4 * 1024 * 1024;

export const usualArgumentValues = 100_000;

/** Names of one object are put in order together, which takes longest: of so many values one may have so many names. */
export function mostNamesOf(argumentValues: number): number {
  return Math.ceil(argumentValues / 10);
}

/** Of one call. */
export interface ArgumentBounds {
  /** As JSON. */
  readonly argumentBytes: number;
  /** Values and names. */
  readonly argumentValues: number;
}

/**
 * What is wrong with a call whose arguments are larger than they may be, or hold more. Undefined: nothing.
 *
 * @param text of the arguments, for engines whose frames nobody looks through
 */
export function tooLarge(
  { tool, cutBytes }: Pick<AskedCall, "tool" | "cutBytes">,
  { argumentBytes, argumentValues }: ArgumentBounds,
  text = "",
): string | undefined {
  const bytes = cutBytes ?? (text.length > argumentBytes ? Buffer.byteLength(text) : 0);
  const name = tool.slice(0, 80);
  if (bytes > argumentBytes)
    return `The arguments of \`${name}\` have ${bytes} bytes and a script's call may have ${argumentBytes} (\`argument_bytes\`); ${byReference}.`;
  if (cutBytes !== undefined || holdsMore(text, argumentValues))
    return `The arguments of \`${name}\` hold ${moreThan(argumentValues)}; divide them among several calls, or ${byReference}.`;
  return undefined;
}

/** What is wrong with what was cut for its values. */
export function moreThan(argumentValues: number): string {
  return `more than ${argumentValues} values and names, or more than ${mostNamesOf(argumentValues)} names in one object, which is the most that a script hands over at once (\`argument_values\`)`;
}

const byReference = "keep what is large with `artifacts.put` and hand over what that gives: it goes by reference";

const backslash = 0x5c;

/** Whether a JSON text holds more values and names than that, or more names in one object; no longer looked through than needed. */
function holdsMore(text: string, most: number): boolean {
  if (2 * text.length <= most) return false;
  const mostNames = mostNamesOf(most);
  const names: number[] = [];
  let count = 0;
  for (let at = 0; at < text.length && count <= most; at += 1) {
    switch (text[at]) {
      case '"':
        at = endOfText(text, at);
        break;
      case "[":
      case "{":
        count += 1;
        names.push(0);
        break;
      case "]":
      case "}":
        names.pop();
        break;
      case ":":
        count += 1;
        names.push((names.pop() ?? 0) + 1);
        if ((names.at(-1) ?? 0) > mostNames) return true;
        break;
      case ",":
        count += 1;
        break;
    }
  }
  return count > most;
}

function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    if (at === -1) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
}
