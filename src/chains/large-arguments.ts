/**
 * What a script hands over in a call itself. Such a value is held, parsed and digested as a whole by whoever runs the
 * script, while everybody else waits; by reference it is bytes in a store.
 */
import type { AskedCall } from "./sandbox.ts";

export const usualArgumentBytes: number = 4 * 1024 * 1024;

/**
 * What is wrong with a call whose arguments are larger than they may be. Undefined: nothing.
 *
 * @param text of the arguments, for engines whose frames nobody looks through
 */
export function tooLarge({ tool, cutBytes }: AskedCall, most: number, text = ""): string | undefined {
  const bytes = cutBytes ?? (text.length > most ? Buffer.byteLength(text) : 0);
  if (bytes === 0) return undefined;
  return `The arguments of \`${tool.slice(0, 80)}\` have ${bytes} bytes and a script's call may have ${most}; keep what is large with \`artifacts.put\` and hand over what that gives: it goes by reference.`;
}
