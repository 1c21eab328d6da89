/** A real process with many callers at once, killed by SIGKILL while half of their calls run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRuntime, type ToolOutcome } from "../../packages/postern/src/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { probe } from "../fakes/probe.ts";

const folder = ownFolder();
const child = join(import.meta.dirname, "../crash/concurrent-child.ts");

function lines(file: string): readonly string[] {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

it("no effect happens twice, whichever caller sends a call again after the crash", { timeout: 60_000 }, async () => {
  const running = spawn(process.execPath, [child, folder], { stdio: "ignore" });
  const done = (): number => new Set(lines("acknowledged")).size;
  await expect.poll(() => [lines("effects").length, done()], { timeout: 30_000 }).toEqual([16, 8]);
  running.kill("SIGKILL");
  await once(running, "exit");

  const execute = (given: unknown): string => {
    effects.push((given as { readonly bill: string }).bill); // as the calls below send it
    return "paid";
  };
  const effects = [...lines("effects")];
  const tools = probe({ name: "pay", risk: "high", effects: "write", idempotent: false, execute });
  const store = `sqlite:${join(folder, "postern.db")}`;
  await using runtime = await createRuntime({ store, tools, autonomy: "A4" });
  const send = (bill: string, key: string | undefined = bill): Promise<ToolOutcome> => {
    const principal = { tenant: "default", agent: "crash" } as const;
    const context = { principal, ...(key !== "" && { idempotencyKey: key }) };
    return runtime.invoke({ tool: "pay", arguments: { bill } }, context);
  };
  const bills = [...new Set(effects)];
  expect(bills).toHaveLength(16);
  for (const bill of bills) {
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => send(bill)));
    const isDone = lines("acknowledged").includes(bill);
    for (const { status, replayed, refusal } of answers)
      expect([bill, replayed, refusal?.code ?? status]).toEqual(
        isDone ? [bill, true, "ok"] : [bill, undefined, "outcome_unknown"],
      );
    if (!isDone) expect((await send(bill, "")).refusal?.code).toBe("outcome_unknown");
  }
  const unknown = await runtime.calls.list({ state: "unknown" });
  expect(unknown).toHaveLength(8);
  expect(unknown.every(({ retryable }) => !retryable)).toBe(true);
  expect(await runtime.calls.list({ state: "attempted" })).toEqual([]);
  const raised = { kind: "outcome_unknown", state: "open", count: 8, data: { tool: "pay", agent: "crash" } };
  await expect.poll(() => runtime.alarms.list()).toMatchObject([raised]);

  await runtime.ledger.settle(unknown[0]?.key ?? "", "retry", "the bank never saw it");
  const bill = String(unknown[0]?.call.arguments["bill"]);
  const retried = await Promise.all([1, 2, 3, 4, 5].map(() => send(bill)));
  expect(retried.filter(({ status, replayed }) => status === "ok" && replayed === undefined)).toHaveLength(1);
  expect(effects.filter((one) => one === bill)).toHaveLength(2); // the one before the crash, and the one that was allowed
  expect(effects).toHaveLength(17);
  expect(await runtime.audit.verify()).toMatchObject({ intact: true });
});
