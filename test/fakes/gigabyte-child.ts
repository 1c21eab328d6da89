/** Makes a gigabyte with one tool, reads it with another, and prints how much this process grew. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { hashing, producing, watchedMemory } from "./streaming.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-gigabyte-"));
const runtime = await createRuntime({ folder, tools: [producing, hashing] });
const session = runtime.openSession();
await session.invoke({ tool: "produce", arguments: { mebibytes: 2 } }); // what is loaded at the first call is no growth
const memory = watchedMemory();
const { files = [] } = await session.invoke({ tool: "produce", arguments: { mebibytes: 1024 } });
const artifact = files[0]?.artifact ?? "";
const { text } = await session.invoke({ tool: "hash", arguments: { file: { $artifact: artifact } } });
const grownMebibytes = memory.end();
await session.close();
await runtime.close();
rmSync(folder, { recursive: true });
process.stdout.write(
  JSON.stringify({ bytes: Number(/of (\d+) bytes/.exec(text)?.[1]), same: text.startsWith(artifact), grownMebibytes }),
);
