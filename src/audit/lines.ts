import { RuntimeFault } from "../calls/fault.ts";

/**
 * The lines of a file's bytes, split at line feeds only (`node:readline` also splits at U+2028, which JSON may hold).
 *
 * @throws RuntimeFault `export_unreadable` when the bytes are not UTF-8: a decoder that replaced them would hide a change
 */
export async function* readLines(bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  for await (const chunk of bytes) {
    const text = rest + decode(decoder, chunk);
    const end = text.lastIndexOf("\n");
    if (end >= 0) yield* text.slice(0, end).split("\n");
    rest = text.slice(end + 1);
  }
  rest += decode(decoder);
  if (rest !== "") yield rest;
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw new RuntimeFault("export_unreadable", "The file is damaged: its bytes are not UTF-8 text.", { cause: error });
  }
}
