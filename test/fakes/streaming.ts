import { createHash } from "node:crypto";
import { defineTool, type LocalTool } from "../../packages/postern/src/index.ts";

const mebibyte = 2 ** 20;

/** Yields this many mebibytes in different pieces of 64 KiB. */
export async function* mebibytes(count: number): AsyncGenerator<Uint8Array, void> {
  for (let n = 0; n < count * 16; n += 1) yield Buffer.alloc(65_536, `piece ${n} `);
}

const plain = { risk: "safe", effects: "read", idempotent: false } as const;

export const producing: LocalTool = defineTool({
  ...plain,
  name: "produce",
  description: "Gives a stream.",
  input: { type: "object", properties: { mebibytes: { type: "integer" } }, required: ["mebibytes"] },
  execute: (given) => ({
    content: [
      { type: "file", mediaType: "application/x-dump", name: "dump", data: mebibytes(Number(given["mebibytes"])) },
    ],
  }),
});

/** Gets the reference itself, because its schema names `$artifact`. */
export const hashing: LocalTool = defineTool({
  ...plain,
  name: "hash",
  description: "Reads an artifact as a stream.",
  input: {
    type: "object",
    properties: {
      file: { type: "object", properties: { $artifact: { type: "string" } }, required: ["$artifact"] },
    },
    required: ["file"],
  },
  execute: async (given, context) => {
    const { chunks } = await context.artifacts.open(given["file"] as { readonly $artifact: string }); // its schema says so
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    return `${hash.digest("hex")} of ${bytes} bytes`;
  },
});

/** Measures the largest growth of this process in mebibytes until `end()`. */
export function watchedMemory(): { end(): number } {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  return {
    end: () => {
      clearInterval(timer);
      return (most - before) / mebibyte;
    },
  };
}
