import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { RuntimeOptions, ToolOutcome } from "../../packages/postern/src/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { actor } from "../fakes/actors.ts";
import { FaultyStore } from "../fakes/faulty-store.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { after } from "./completeness/after.ts";
import { approval } from "./completeness/approval.ts";
import { before } from "./completeness/before.ts";
import { echo, type Fault, type Row, type Scene, type Step, throws } from "./completeness/fault.ts";

/** Every step of the path and every way in which it can fail. A step without a row does not compile. */
const table = { ...before, ...approval, ...after } satisfies Record<Step, Row>;

function poisonedRedactor(): NonNullable<RuntimeOptions["redactor"]> {
  const redactor = createRedactor();
  redactor.learn("hunter2hunter2");
  return {
    learn: (value) => redactor.learn(value),
    finds: (text) => redactor.finds(text),
    redact: (text) => (text === "POISON" ? throws() : redactor.redact(text)),
  };
}

describe.each(Object.entries<Row>(table))("%s", (step, row) => {
  for (const [way, cell] of Object.entries(row)) {
    if (typeof cell === "string") it(`${way} cannot happen: ${cell}`, () => expect(cell).not.toBe(""));
    else
      it(`${way}: one terminal event, one trace line, one TOOL_END, and the next call works`, () => inject(cell, step));
  }
});

/** The steps after the claim. */
const afterClaim: ReadonlySet<string> = new Set(["execute", "shape", "settle"]);

function isTerminal(type: string): boolean {
  return (
    type === "gate.preview" ||
    type === "gate.blocked" ||
    (type.startsWith("tool_call.") && type !== "tool_call.attempted")
  );
}

async function inject(fault: Fault, step: string): Promise<void> {
  const clock = new FakeClock();
  const failing: Scene["failing"] = new Map();
  const folder = ownFolder();
  const ended: string[] = [];
  let toolEnds: string[] = [];
  const options: RuntimeOptions = {
    clock,
    folder,
    store: new FaultyStore(clock, failing),
    redactor: poisonedRedactor(),
    hooks: { toolEnd: ({ callId }) => void toolEnds.push(callId) },
    approvals: { patience: "suspend" },
    ...fault.options,
  };
  await using h = await runtimeFixture(options, fault.tools ?? []);
  const scene: Scene = {
    h,
    clock,
    failing,
    folder,
    stop: new AbortController(),
    pending: async () => (await h.runtime.approvals.list({ state: "pending" }))[0]?.id ?? "none",
  };
  const { context = { ...asker, patience: "deny" } }: Pick<Fault, "context"> = fault;
  const { idempotencyKey: _, ...ofSession } = context;
  const session = h.runtime.openSession(fault.limits ?? {}, ofSession);
  await fault.before?.(scene);
  h.runtime.watch((event) => {
    if (event.moment === "ended") ended.push(event.call.id);
  });
  toolEnds = [];
  const running = session.invoke(fault.call ?? echo, { ...context, signal: scene.stop.signal });
  const outcome = running.then(
    (came: ToolOutcome) => came.refusal?.code ?? came.status,
    (error: unknown) => `thrown: ${error instanceof Error ? "cancelled" : "something else"}`,
  );
  await clock.advance(2);
  await fault.during?.(scene);
  await clock.advance(fault.passes ?? 2);

  expect(await outcome).toBe(fault.ends);
  await clock.advance(10);
  const [mine = ""] = toolEnds;
  expect(toolEnds.filter((id) => id === mine)).toHaveLength(1);
  expect(ended.filter((id) => id === mine)).toHaveLength(fault.unlogged === true ? 0 : 1);
  expect(session.trace).toHaveLength(1);
  const began = await h.runtime.audit.query({ callId: mine, type: "tool_call.attempted" });
  expect(began.filter(({ refs }) => refs.tool_call === mine)).toHaveLength(afterClaim.has(step) ? 1 : 0);
  const logged = (await h.runtime.audit.query({ callId: mine, limit: 1000 })).filter(
    ({ type, refs }) => refs.tool_call === mine && isTerminal(type),
  );
  expect(logged).toHaveLength(fault.unlogged === true ? 0 : 1);
  for (const event of logged) expect(event).toMatchObject({ principal: { agent: "a" }, trace_id: session.traceId });
  expect(h.ran.length).toBe(fault.ran ?? 0);

  failing.clear();
  await h.runtime.controls.setTool("echo", true, actor("operator"));
  const again = await h.runtime.invoke({ tool: "echo", arguments: { to: "next" } }, { ...asker, patience: "deny" });
  const { options: { policy: given, autonomy } = {} } = fault;
  if (given === undefined && autonomy !== "A0" && fault.ends !== "result_unavailable") expect(again.status).toBe("ok");
  else expect(["ok", "preview", "denied", "error"]).toContain(again.status);
  expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
}
