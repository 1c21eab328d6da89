import type { ChildSpec } from "../../packages/engines/src/child/child-process.ts";

/** A child process with a test's code: `say(frame)` writes a frame with the right token, `raw(bytes)` any bytes. */
export function lyingChild(onNext: string, onReady = "say({ ready: true })"): ChildSpec {
  const program = `const { readSync, writeSync } = require("node:fs");
let token, turn = 0;
const read = (n) => { const b = Buffer.alloc(n); for (let have = 0; have < n; ) { const got = readSync(0, b, have, n - have); if (got === 0) process.exit(0); have += got } return b };
const raw = (bytes) => { for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at) };
const framed = (text) => { const b = Buffer.from(text); const h = Buffer.alloc(4); h.writeUInt32BE(b.length); return Buffer.concat([h, b]) };
const say = (frame) => raw(framed(JSON.stringify({ token, ...frame })));
for (;;) { const order = JSON.parse(read(read(4).readUInt32BE(0)).toString()); token = order.token;
  if (order.do === "ready") { ${onReady} } else { turn++; ${onNext} } }`;
  return {
    command: process.execPath,
    args: ["-e", program],
    frames: { maxBytes: 100_000, maxDepth: 50 },
    closed: false,
  };
}
