import type { LocalTool } from "../../packages/postern/src/tools/kinds.ts";

/** Its result is a file, a sound, embedded bytes and rows: a model that reads text must learn of each. */
export function bytesTool(name = "send_mail"): LocalTool {
  const content = [
    { type: "file", mediaType: "text/csv", name: "orders.csv", data: "aWQK" },
    { type: "audio", mediaType: "audio/wav", data: "UklGRg==" },
    { type: "resource", uri: "scan://1", mediaType: "application/x-scan", data: "AAEC" },
  ];
  return {
    ...{ name, description: "Answers with bytes.", risk: "safe", effects: "read", idempotent: true },
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    execute: () => ({ content, structured: { rows: 1 } }),
  };
}

/** In any order, because each library puts the lines in its own. */
export function expectEachBlock(read: string): void {
  for (const part of ["orders.csv", "audio/wav", "scan://1"])
    if (!read.includes(part)) throw new Error(`no ${part}: ${read}`);
}
