import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const base = { ...asker, runId: "run_1" } as const;
const code = 'await call("echo", { to: "a" }); return (await call("echo", { to: "b" })).text;';

it("a script's calls are below it in the run's folder, live and projected again from the audit log", async () => {
  const options = {
    ...{ store: `sqlite:${join(runsFolder(), "postern.db")}`, archive: { folder: runsFolder() } },
    chains: { drivers: [fakeDriver()], engines: ["fake"] },
  };
  const { folder } = options.archive;
  const run = new RunFolder(folder, "run_1");
  const nested = (): readonly (readonly [unknown, string | undefined])[] => {
    const names = new Map(run.events.map(({ event_id, data }) => [event_id, String(data["tool"])]));
    const starts = run.events.filter(({ type }) => type === "tool.started");
    return starts.map(({ data, parent_event_id: parent = "" }) => [data["tool"], names.get(parent)]);
  };
  const beneath = [
    ["tool_chain", undefined],
    ["echo", "tool_chain"],
    ["echo", "tool_chain"],
  ];
  let position = "";
  {
    await using h = await runtimeFixture(options);
    await h.runtime.invoke({ tool: "echo", arguments: { to: "before" } }, { ...base, runId: "run_0" });
  }
  position = readFileSync(join(folder, ".position.json"), "utf8");
  {
    await using h = await runtimeFixture(options);
    await h.runtime.runChain({ code }, base);
    await h.runtime.runs?.flush();
    expect(nested()).toEqual(beneath);
    const attempted = await h.runtime.audit.query({ type: "tool_call.attempted" });
    const chain = attempted.find(({ tool_name }) => tool_name === "tool_chain")?.refs.tool_call;
    expect(attempted.map(({ refs }) => refs.parent)).toEqual([undefined, undefined, chain, chain]);
  }
  writeFileSync(join(folder, ".position.json"), position);
  rmSync(join(folder, "run_1"), { recursive: true });
  {
    await using h = await runtimeFixture(options);
    await h.runtime.runs?.flush();
    expect(run.calls.every(({ recovered }) => recovered === true)).toBe(true);
    expect(nested()).toEqual(beneath);
    expect(run.calls).toHaveLength(3);
  }
});
