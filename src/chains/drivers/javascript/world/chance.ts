/** Chance and time as `crypto` and `performance` tell them: the same again when the script is replayed. Nothing here is a secret. */

export const chance: Readonly<Record<"randomUUID" | "getRandomValues", unknown>> = {
  randomUUID: (): string => {
    const bytes = filled(new Uint8Array(16));
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  },
  getRandomValues: filled,
};

function filled<Numbers extends Uint8Array | Uint16Array | Uint32Array>(array: Numbers): Numbers {
  for (let at = 0; at < array.length; at += 1)
    array[at] = Math.floor(Math.random() * 2 ** (8 * array.BYTES_PER_ELEMENT));
  return array;
}

const openedAt = Date.now();

export const stopwatch: { readonly timeOrigin: number; readonly now: () => number } = {
  timeOrigin: openedAt,
  now: () => Date.now() - openedAt,
};
