/**
 * Durable calls a second with 64 in flight, in PostgreSQL and in a file, in turns. Give the address of a database:
 *
 *     POSTERN_TEST_PG=postgres://postgres@127.0.0.1:5432/postgres node bench/postgres.ts
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type Runtime } from "../packages/postern/src/index.ts";
import { openOnFile, together, writeTool } from "./durable.ts";
import { median } from "./harness.ts";

const [rounds, calls, inFlight] = [5, 2_000, 64];
const least = 0.35;
const url = process.env["POSTERN_TEST_PG"];
if (url === undefined) throw new Error("Set POSTERN_TEST_PG to the address of a PostgreSQL database.");

const folder = mkdtempSync(join(tmpdir(), "postern-bench-"));
const openInPostgres = (): Promise<Runtime> =>
  createRuntime({ tools: [writeTool], store: `${url}?schema=bench_${process.pid}_${Date.now()}`, autonomy: "A4" });
const inFile = await openOnFile(join(folder, "postern.db"));
const inPostgres = await openInPostgres();
const ratios: number[] = [];
try {
  for (const runtime of [inFile, inPostgres]) await together(runtime, calls, inFlight); // warms both
  for (let round = 0; round < rounds; round += 1) {
    const file = await together(inFile, calls, inFlight);
    const postgres = await together(inPostgres, calls, inFlight);
    ratios.push(postgres / file);
    console.log(
      `file ${Math.round(file)}/s, PostgreSQL ${Math.round(postgres)}/s, ratio ${(postgres / file).toFixed(2)}`,
    );
  }
} finally {
  await Promise.all([inFile.close(), inPostgres.close()]);
  rmSync(folder, { recursive: true });
}
const ratio = median(ratios);
console.log(`median ratio ${ratio.toFixed(2)}; at least ${least}`);
if (ratio < least) process.exitCode = 1;
