/** Runs the same tests on each engine. */
import { existsSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { type EngineFixture, type EngineUnderTest, engineFixture, enginesHere } from "./engine-fixture.ts";
import { scriptsByName } from "./engine-scripts.ts";

type Language = EngineUnderTest["language"];

/** An engine under test, with functions that open it and register a test. */
export interface EngineCase extends EngineUnderTest {
  room(options?: Parameters<typeof engineFixture>[1]): Promise<EngineFixture>;
  code(which: keyof typeof scriptsByName): { readonly code: string; readonly language: Language };
  check(title: string, body: () => Promise<void>): void;
  /** Expects that the session's process has ended, or is reset for the same caller (docs/reference/engines.md). */
  expectReleased(session: object | undefined): Promise<void>;
}

/** The timeout of a test and of a wait in it, in milliseconds: Pyodide starts in seconds. */
export const engineTimeoutMs = 90_000;

/** Makes one `describe` for each engine, and closes the engines after the file. */
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
      code: (which) => ({ code: scriptsByName[which]?.[language] ?? "", language }),
      check: (title, test) => it.skipIf(missing !== undefined)(title, test, engineTimeoutMs),
      expectReleased: async (session) => {
        if (name !== "quickjs") await expect.poll(() => isAlive(session), { timeout: engineTimeoutMs }).toBe(false);
      },
    });
  });
}

/** Returns whether the session's process still runs. Our sessions have a `pid`. */
export function isAlive(session: object | undefined): boolean {
  if (session === undefined || !("pid" in session)) throw new Error("This session has no `pid`.");
  return existsSync(`/proc/${String(session.pid)}/root`);
}
