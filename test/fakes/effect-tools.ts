import { expect } from "vitest";
import type { SandboxDriver } from "../../packages/core/src/sandbox/sandbox.ts";
import type { ChainScript } from "../../packages/engines/src/index.ts";
import type { RuntimeOptions, ToolOutcome } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "./fake-sandbox.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";
import { resultOf } from "./script-fixture.ts";

export const approval: { readonly decision: "approved"; readonly by: typeof boss } = { decision: "approved", by: boss };
const input = { type: "object", properties: { to: { type: "string" } } } as const;

/** Tools for scripts that are cut short: `work` has an effect, `hold` runs until it is released. */
export class EffectTools {
  readonly did: string[] = [];
  isHeld = true;
  /** Runs instead of the wait in `hold`. */
  release: (() => Promise<string>) | undefined;
  reached: PromiseWithResolvers<void> = Promise.withResolvers<void>();

  get tools(): NonNullable<Parameters<typeof runtimeFixture>[1]> {
    return [
      {
        ...{ name: "work", description: "Has an effect.", input },
        ...{ risk: "safe", effects: "write", idempotent: false },
        execute: (given) => {
          const { to } = given as { readonly to: string }; // the schema says so
          this.did.push(to);
          return `did ${to}`;
        },
      },
      {
        ...{ name: "hold", description: "Lasts until it is let go.", input },
        ...{ risk: "safe", effects: "read", idempotent: true },
        execute: (_given, { signal }) => {
          if (this.release !== undefined) return this.release();
          if (!this.isHeld) return "let go";
          this.reached.resolve();
          return new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true }),
          );
        },
      },
    ];
  }
}

export const holdingScript =
  'await call("work", { to: "a" }); await call("hold", {}); await call("work", { to: "b" }); return "end";';

/** A runtime with these tools and one engine. */
export function openRuntime(
  effects: EffectTools,
  driver: SandboxDriver = fakeDriver(),
  options: RuntimeOptions = {},
): Promise<RuntimeFixture> {
  return runtimeFixture({ chains: { drivers: [driver], engines: [driver.name] }, ...options }, effects.tools);
}

/** Runs a script whose caller leaves when `hold` is reached. */
export async function runAndLeave(
  h: RuntimeFixture,
  effects: EffectTools,
  script: ChainScript,
  more: { readonly idempotencyKey?: string } = {},
): Promise<void> {
  const controller = new AbortController();
  effects.reached = Promise.withResolvers();
  const sent = h.runtime.runChain(script, { ...asker, ...more, signal: controller.signal });
  await effects.reached.promise;
  controller.abort();
  await expect(sent).rejects.toThrow(/abort/);
}

/** Returns `tool status` for each call in the answer's trace. */
export function traceOf(outcome: ToolOutcome | undefined): readonly string[] {
  const rows = resultOf(outcome)["call_trace"] as readonly { readonly tool: string; readonly status: string }[]; // a ChainRunResult
  return rows.map(({ tool, status }) => `${tool} ${status}`);
}
