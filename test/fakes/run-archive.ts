import { RunFolder, runsFolder } from "./run-folder.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

export type Tool = NonNullable<Parameters<typeof runtimeFixture>[1]>[number];

export const base: typeof asker & { readonly runId: string } = { ...asker, runId: "run_1" };
export const safe = { risk: "safe", effects: "read", idempotent: true, input: { type: "object" } } as const;

export interface RunArchiveFixture {
  readonly h: RuntimeFixture;
  readonly run: RunFolder;
  readonly folder: string;
  readonly logged: string[];
}

export async function openRunArchive(
  tools: readonly Tool[] = [],
  more: Parameters<typeof runtimeFixture>[0] = {},
): Promise<RunArchiveFixture & AsyncDisposable> {
  const folder = runsFolder();
  const logged: string[] = [];
  const h = await runtimeFixture({ archive: { folder }, log: (problem) => void logged.push(problem), ...more }, tools);
  const run = new RunFolder(folder, "run_1");
  return { h, run, folder, logged, [Symbol.asyncDispose]: () => h.runtime.close() };
}
