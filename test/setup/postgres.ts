/** Starts the PostgreSQL of the stories, once for a run. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { PostgresProcess } from "../fakes/postgres-process.ts";

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env["POSTERN_TEST_PG"];
  if (given !== undefined) return void project.provide("storiesPostgres", given);
  const folder = mkdtempSync(join(tmpdir(), "postern-stories-"));
  const server = await PostgresProcess.started(folder, ["-c", "fsync=off", "-c", "max_connections=200"]);
  project.provide("storiesPostgres", server.url);
  return async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}
