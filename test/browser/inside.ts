import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { RuntimeFixture } from "./console-fixture.ts";

/** So many at once. */
const batch = 500;

/**
 * What has happened in a runtime before it is opened, written by the same path as any other, without a server.
 *
 * @param act one call; `false` when there are no more
 */
export async function inside(
  { folder }: RuntimeFixture,
  options: RuntimeOptions,
  act: (runtime: Runtime, at: number) => Promise<unknown> | false,
): Promise<void> {
  const data = join(folder, ".postern");
  mkdirSync(data, { mode: 0o700 });
  await using runtime = await createRuntime({
    ...options,
    folder: data,
    store: `sqlite:${join(data, "postern.db")}`,
    limits: { maxToolCalls: 10_000_000 },
  });
  for (let from = 0, goesOn = true; goesOn; from += batch) {
    const acts = Array.from({ length: batch }, (_, at) => act(runtime, from + at));
    await Promise.all(acts);
    goesOn = !acts.includes(false);
  }
}
