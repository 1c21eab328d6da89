import { RuntimeFault, secretNamePattern } from "@postern/core";

/** A child process can hardly get more in one variable. */
export const maxValueBytes: number = 64 * 1024;
/** Masking shorter values would mask ordinary text too. */
export const fewestCharacters = 6;

/**
 * The message does not repeat the names: one of them may be the value itself.
 *
 * @throws RuntimeFault `request_invalid`
 */
export function checkSecretName(connector: string, key: string): void {
  for (const [what, given] of [
    ["connector", connector],
    ["key", key],
  ] as const) {
    if (typeof given === "string" && secretNamePattern.test(given)) continue;
    throw new RuntimeFault(
      "request_invalid",
      `The ${what} of a secret is not a name; use 1 to 128 letters, digits, \`.\`, \`_\` and \`-\`, not beginning with \`-\`.`,
    );
  }
}

/**
 * The value that was meant: the bytes of a file or a pipe without one line break at the end.
 *
 * @throws RuntimeFault `request_invalid`; no message shows the value
 */
export function secretValue(bytes: Uint8Array, name: string): string {
  if (bytes.length > maxValueBytes + 2) throw tooLong(name);
  const text = utf8(bytes, name).replace(/\r?\n$/, "");
  checkSecretValue(text, name);
  return text;
}

/** @throws RuntimeFault as `secretValue` */
export function checkSecretValue(text: string, name: string): void {
  if (!isMaskable(text)) throw tooShort(name);
  if (Buffer.byteLength(text) > maxValueBytes) throw tooLong(name);
  if (text.includes("\0")) throw invalid(name, "holds a NUL character, which no environment can carry");
}

/** Files and shells add a line break that people do not paste. */
export function isMaskable(value: string): boolean {
  return value.trim().length >= fewestCharacters;
}

export function tooShort(name: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault(
    "request_invalid",
    `The secret \`${name}\` cannot be masked reliably, so it cannot be used: it needs at least ${fewestCharacters} characters.`,
    cause === undefined ? undefined : { cause },
  );
}

function tooLong(name: string): RuntimeFault {
  return new RuntimeFault(
    "request_invalid",
    `The secret \`${name}\` has more than ${maxValueBytes} bytes; keep the data in a file, and its key here.`,
  );
}

function utf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid(name, "is not UTF-8 text; encode it (base64) and decode it where it is used"); // the decoder's message has less information
  }
}

function invalid(name: string, why: string): RuntimeFault {
  return new RuntimeFault("request_invalid", `The secret \`${name}\` ${why}.`);
}
