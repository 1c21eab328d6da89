import type { HiddenInput } from "./hidden-input.ts";

/** One key, by the character it makes, or by its name. */
export type PressedKey =
  | { readonly text: string }
  | { readonly name: "up" | "down" | "page up" | "page down" | "enter" | "erase" | "escape" | "end" };

const named: ReadonlyMap<string, PressedKey> = new Map<string, PressedKey>([
  ["\u001b[A", { name: "up" }],
  ["\u001b[B", { name: "down" }],
  ["\u001bOA", { name: "up" }],
  ["\u001bOB", { name: "down" }],
  ["\u001b[5~", { name: "page up" }],
  ["\u001b[6~", { name: "page down" }],
  ["\r", { name: "enter" }],
  ["\n", { name: "enter" }],
  ["\u007f", { name: "erase" }],
  ["\b", { name: "erase" }],
  ["\u001b", { name: "escape" }],
  ["\u0003", { name: "end" }],
  ["\u0004", { name: "end" }],
]);

/** The key of one chunk of input. More than one character is a paste, so that a paste decides nothing. */
export function keyOf(chunk: string): PressedKey | { readonly pasted: string } | undefined {
  const known = named.get(chunk);
  if (known !== undefined) return known;
  if ([...chunk].length === 1) return /\p{Cc}/u.test(chunk) ? undefined : { text: chunk };
  return chunk.startsWith("\u001b") ? undefined : { pasted: chunk };
}

/** Hands every key on until `signal` is aborted, then restores the terminal. */
export async function readKeys(
  input: HiddenInput,
  signal: AbortSignal,
  press: (key: NonNullable<ReturnType<typeof keyOf>>) => void,
): Promise<void> {
  input.setRawMode?.(true);
  input.resume();
  const onData = (chunk: Buffer | string): void => {
    const key = keyOf(chunk.toString());
    if (key !== undefined) press(key);
  };
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  input.on("data", onData);
  input.once("end", end);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    await over.promise;
  } finally {
    input.off("data", onData);
    input.off("end", end);
    input.setRawMode?.(false);
    input.pause();
  }
}
