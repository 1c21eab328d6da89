/** Sentences that are true on each engine: what their files have in common. */
import { existsSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { type EngineFixture, type EngineUnderTest, engineFixture, enginesHere } from "./engine-fixture.ts";
import { by } from "./engine-scripts.ts";

type Language = EngineUnderTest["language"];

/** An engine, and how a sentence is said of it. */
export interface EngineCase extends EngineUnderTest {
  room(options?: Parameters<typeof engineFixture>[1]): Promise<EngineFixture>;
  code(which: keyof typeof by): { readonly code: string; readonly language: Language };
  says(sentence: string, body: () => Promise<void>): void;
  /** Its process is gone, or is rinsed for the next script of the same caller (docs/reference/engines.md). */
  expectLetGo(session: object | undefined): Promise<void>;
}

/** Of a sentence, and of what it waits for: Pyodide starts in seconds. */
export const patient = 90_000;

/** One `describe` an engine; they are closed when the file has ended. */
export async function onEachEngine(body: (on: EngineCase) => void): Promise<void> {
  const engines = await enginesHere();
  afterAll(async () => {
    await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
  });
  describe.each(engines)("on $name", (engine) => {
    const { name, language, missing } = engine;
    body({
      ...engine,
      room: (options = {}) => engineFixture(engine, options),
      code: (which) => ({ code: by[which]?.[language] ?? "", language }),
      says: (sentence, test) => it.skipIf(missing !== undefined)(sentence, test, patient),
      expectLetGo: async (session) => {
        if (name !== "quickjs") await expect.poll(() => isAlive(session), { timeout: patient }).toBe(false);
      },
    });
  });
}

/** Whether its process is there still; sessions of ours know their process. */
export function isAlive(session: object | undefined): boolean {
  if (session === undefined || !("pid" in session)) throw new Error("This session knows no process.");
  return existsSync(`/proc/${String(session.pid)}/root`);
}
