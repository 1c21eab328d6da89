/** RFC 8785: the text whose SHA-256 the server binds an approval to. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)); // by UTF-16 code units
    return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Hexadecimal. Undefined when the browser has no WebCrypto: the page is neither loopback nor TLS. */
export async function sha256(text: string): Promise<string | undefined> {
  // Its type does not say that only a secure context has it.
  const { subtle } = globalThis.crypto as Partial<typeof globalThis.crypto>;
  if (subtle === undefined) return undefined;
  return hex(new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
