/** A running `postern start`, real calls, and Prometheus' own tool over what it answers and over the files of `deploy/`. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { PosternClient } from "../../packages/core/src/contract/client.ts";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { readToken } from "../../packages/postern/src/server/credentials.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { PosternProcess } from "../fakes/postern-process.ts";
import { samplesIn } from "../fakes/samples.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const cli = new PosternProcess();
const data = join(cli.folder, ".postern");
let running: Awaited<ReturnType<PosternProcess["start"]>>;
let agent: PosternClient;
let url: string;

async function start(): Promise<void> {
  running = await cli.start(data);
  ({ url } = JSON.parse(readFileSync(join(data, "server.json"), "utf8")));
  agent = createClient({ url, token: (await readToken(data, "agent")) ?? "" });
}

let metricsToken = "";
async function scrape(): Promise<string> {
  const answered = await fetch(new URL("/metrics", url), { headers: { authorization: `Bearer ${metricsToken}` } });
  if (answered.status !== 200) throw new Error(`${answered.status}: ${await answered.text()}`);
  return answered.text();
}
const samples = async (): Promise<ReadonlyMap<string, number>> => samplesIn(await scrape());

/** Waits until the sample has this value: what the store says is kept for five seconds. */
async function shows(name: string, value: number): Promise<void> {
  await vi.waitFor(async () => expect((await samples()).get(name)).toBe(value), { timeout: 20_000, interval: 250 });
}

beforeAll(async () => {
  const file = join(cli.folder, "postern.yaml");
  const servers = "servers:\n  absent: { command: ./absent-program }\n";
  writeFileSync(file, readFileSync(file, "utf8") + servers);
  await start();
  const made = await cli.run(
    ...["tokens", "create", "prometheus", "--kind", "person", "--permissions", "metrics:read", "--data", data],
  );
  metricsToken = made.out.trim();
});
afterAll(() => {
  running.child.kill("SIGKILL");
  cli[Symbol.dispose]();
});

describe("a running Postern", () => {
  it("counts calls, refusals and times as they happen", async () => {
    await agent.calls.call({ tool: "echo", arguments: { text: "hi" } });
    await agent.calls.call({ tool: "echo", arguments: { text: "hi again" } });
    await agent.calls.call({ tool: "fail" });
    await agent.calls.call({ tool: "wipe", arguments: {} });
    for (let i = 0; i < 20; i += 1) await agent.calls.call({ tool: `made_up_${i}` });
    const now = await samples();
    expect(now.get('postern_calls_total{tool="echo",outcome="ok",via="token"}')).toBe(2);
    expect(now.get('postern_calls_total{tool="fail",outcome="error",via="token"}')).toBe(1);
    expect(now.get('postern_calls_total{tool="wipe",outcome="denied",via="token"}')).toBe(1);
    expect(now.get('postern_calls_total{tool="other",outcome="error",via="token"}')).toBe(20);
    expect(now.get('postern_refusals_total{code="tool_unknown"}')).toBe(20);
    expect(now.get('postern_refusals_total{code="blocked"}')).toBe(1);
    expect(now.get('postern_call_seconds_count{tool="echo"}')).toBe(2);
    expect([...now.keys()].filter((name) => name.includes("made_up"))).toEqual([]);
    expect(now.get("postern_store_commit_seconds_count")).toBeGreaterThan(0);
    expect(now.get("postern_log_size")).toBeGreaterThan(20);
    expect(now.get("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  });

  it("shows a server that cannot be started as down", async () => {
    await shows('postern_upstream_up{server="absent"}', 0);
  });

  it("shows a request that waits, and the decision", async () => {
    const { approval_id: id = "" } = await agent.calls.call({
      tool: "send",
      arguments: { text: "wait" },
      patience: "suspend",
    });
    await shows('postern_approvals_waiting{risk="high"}', 1);
    expect((await cli.run("approvals", "approve", id, "--data", data)).code).toBe(0);
    await shows('postern_approvals_waiting{risk="high"}', 0);
    await shows('postern_decisions_total{as="approved"}', 1);
  });

  it("shows a call under way, and after a kill as unknown until it is settled", async () => {
    const until = join(cli.folder, "let-go");
    const calling = agent.calls.call({ tool: "held", arguments: { until } }).catch(() => undefined);
    await shows("postern_budget_held", 1);
    running.child.kill("SIGKILL");
    await Promise.all([running.end, calling]);
    await start();
    await shows("postern_outcomes_unknown", 1);
    expect((await samples()).get("postern_budget_held")).toBe(0);
    const { calls } = await agent.calls.list({ state: "unknown" });
    const settle = ["calls", "settle", calls[0]?.call_id ?? "", "succeeded", "--reason", "seen", "--data", data];
    expect(await cli.run(...settle)).toMatchObject({ code: 0 });
    await shows("postern_outcomes_unknown", 0);
  });
});

const promtool = spawnSync("promtool", ["--version"], { encoding: "utf8" });
const hasPromtool = promtool.status === 0;
if (!hasPromtool)
  console.warn("SKIPPED: Prometheus' checks: there is no promtool; `apt-get install prometheus` brings it.");

function check(words: readonly string[], input = ""): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync("promtool", words, {
    cwd: join(deploy, "prometheus"),
    input,
    encoding: "utf8",
  });
  return { status, said: `${stdout}${stderr}` };
}

const passed = { status: 0, said: expect.any(String) };

describe.skipIf(!hasPromtool)("promtool", () => {
  it("finds nothing wrong in a scrape", async () => {
    await agent.calls.call({ tool: "echo", arguments: { text: "for a histogram" } });
    expect(check(["check", "metrics"], await scrape())).toEqual({ status: 0, said: "" });
  });

  it("accepts the alert rules, and their tests pass", () => {
    expect(check(["check", "rules", "postern.rules.yml"])).toEqual(passed);
    expect(check(["test", "rules", "postern.rules.test.yml"])).toEqual(passed);
    expect(check(["check", "config", "--syntax-only", "prometheus.yml"])).toEqual(passed);
  });

  it("accepts each query of the dashboard", () => {
    const rules = queries().map((expr, i) => ({ record: `q${i}`, expr }));
    const file = join(ownFolder(), "queries.yml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] })); // JSON is YAML
    expect(check(["check", "rules", file])).toEqual(passed);
  });
});

/** Those of the dashboard, with what Grafana puts in. */
function queries(): readonly string[] {
  const text = readFileSync(join(deploy, "grafana/postern.json"), "utf8");
  const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] };
  const found = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  return found.map((expr) => expr.replaceAll(/\$__(?:rate_interval|range)/g, "5m").replaceAll("$instance", ".*"));
}

it("the dashboard and the rules name only metrics that a scrape shows, and the dashboard shows all of ours", async () => {
  const shown = new Set(Array.from((await scrape()).matchAll(/^# TYPE (\S+)/gm), ([, name = ""]) => name));
  const namesIn = (text: string): readonly string[] =>
    Array.from(text.matchAll(/\b(?:postern|process|nodejs)_\w+/g), ([name]) => name.replace(/_bucket$/, ""));
  const rules = readFileSync(join(deploy, "prometheus/postern.rules.yml"), "utf8");
  const drawn = new Set(queries().flatMap(namesIn));
  expect([...drawn, ...namesIn(rules)].filter((name) => !shown.has(name))).toEqual([]);
  expect([...shown].filter((name) => !drawn.has(name))).toEqual([]);
});
