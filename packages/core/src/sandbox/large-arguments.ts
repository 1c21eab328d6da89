/**
 * Limits of the values that a script sends in a call or in its answer. The host sorts, digests and checks such a value
 * as a whole, so its bytes and its values are bounded. Larger values go by reference: they are bytes in a store.
 */
import type { AskedCall, SandboxLimits } from "./sandbox.ts";

export const usualArgumentBytes: number = 4 * 1024 * 1024;

export const usualArgumentValues = 100_000;

/** Limits of one call's arguments. */
export interface ArgumentBounds {
  /** Bytes of the JSON text. */
  readonly argumentBytes: number;
  /** Values and names. A tenth of them may be names of one object, because names are sorted. */
  readonly argumentValues: number;
}

export function argumentBoundsOf(limits: Pick<SandboxLimits, "argumentBytes" | "argumentValues">): ArgumentBounds {
  const { argumentBytes = usualArgumentBytes, argumentValues = usualArgumentValues } = limits;
  return { argumentBytes, argumentValues };
}

/**
 * Returns what is wrong with a call whose arguments are too large, or undefined.
 *
 * @param text the arguments, unless the engine left them out
 */
export function tooLarge(
  { tool, cutBytes }: Pick<AskedCall, "tool" | "cutBytes">,
  { argumentBytes, argumentValues }: ArgumentBounds,
  text = "",
): string | undefined {
  const bytes = cutBytes ?? (text.length * 3 > argumentBytes ? Buffer.byteLength(text) : 0);
  const name = tool.slice(0, 80);
  if (bytes > argumentBytes)
    return `The arguments of \`${name}\` have ${bytes} bytes and a script's call may have ${argumentBytes} (\`argument_bytes\`); ${byReference}.`;
  if (cutBytes !== undefined || holdsMore(text, argumentValues))
    return `The arguments of \`${name}\` hold ${moreThan(argumentValues)}; divide them among several calls, or ${byReference}.`;
  return undefined;
}

/** The message for a value that contains too many values. */
export function moreThan(argumentValues: number): string {
  return `more than ${argumentValues} values and names, or more than ${mostNamesOf(argumentValues)} names in one object, which is the most that a script hands over at once (\`argument_values\`)`;
}

const byReference = "keep what is large with `artifacts.put` and hand over what that gives: it goes by reference";

function mostNamesOf(argumentValues: number): number {
  return Math.ceil(argumentValues / 10);
}

/** Whether a JSON text contains more values and names than that, or more than a tenth of them as names of one object. */
export function holdsMore(text: string, most: number): boolean {
  if (2 * text.length <= most) return false; // each takes a character and a sign
  const mostNames = mostNamesOf(most);
  const names: number[] = []; // one number for each open object
  let count = 0;
  for (let at = 0; at < text.length && count <= most; at += 1) {
    const sign = text[at];
    if (sign === '"') at = endOfText(text, at);
    else if (sign === "[" || sign === "{") names.push(0);
    else if (sign === "]" || sign === "}") names.pop();
    else if (sign === ":") {
      const named = (names.pop() ?? 0) + 1;
      if (named > mostNames) return true;
      names.push(named);
    }
    if (sign === "[" || sign === "{" || sign === ":" || sign === ",") count += 1;
  }
  return count > most;
}

function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}
