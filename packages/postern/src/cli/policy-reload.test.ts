import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
const data = cli.dataFolder("data");
const file = join(cli.folder, "postern.yaml");
const run = (...words: readonly string[]) => cli.run(...words, "--data", data);
const head = ["tools:", "  modules: [./tools.ts]", "listen: { port: 0 }", "console: { edit_policy: true }"];
const write = (...lines: readonly string[]) => writeFileSync(file, [...head, ...lines, ""].join("\n"));
const rule = (text: string) => ["policy:", "  rules:", `    - ${text}`];
/** Newest first. */
const events = async () => (await ask("GET", "/v1/audit/latest?type=operator.action.policy_replaced")).body.events;

interface Answer {
  readonly events: readonly { readonly data: { readonly changes: readonly string[] } }[];
  readonly digest: string;
  readonly differs: readonly string[];
  readonly policy_version: string;
  readonly in_force: { readonly changes: readonly string[]; readonly after_version: string };
}

async function ask(method: string, path: string, body?: object) {
  const { url } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
  const token = readFileSync(join(data, "operator.token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const answer = (await response.json()) as Answer; // the fields that tests look at
  return { status: response.status, body: answer };
}

let child: ChildProcess;
let problems = "";
let end: Promise<unknown>;

beforeAll(async () => {
  write(...rule("{ id: none, effect: deny, tool: fail }"));
  ({ child, end } = await cli.start(data, "--log-level", "info"));
  child.stderr?.on("data", (chunk: Buffer) => {
    problems += chunk.toString();
  });
}, 60_000);
afterAll(async () => {
  child.kill();
  await end;
  cli[Symbol.dispose]();
});

describe("the policy of a running Postern", () => {
  it("comes into force by `policy reload`, which says what changed and what waits for a restart", async () => {
    expect((await run("call", "echo", "text=hi")).code).toBe(0);
    write("limits: { max_tool_calls: 9 }", "autonomy: A3", ...rule("{ id: quiet, effect: deny, tool: echo }"));
    const { code, out } = await run("policy", "reload", "--reason", "too loud");
    expect(code).toBe(0);
    expect(out).toMatch(/^In force: postern\.yaml, policy \w{16} \(before: \w{16}\)\.\n/);
    expect(out).toContain("  The rule `quiet` is added.\n  The rule `none` is removed.\n");
    expect(out).toContain("  `autonomy` was `A2` and is `A3` now.\n");
    expect(out).toMatch(/^`limits` changed too, and needs a restart\.$/m);
    expect((await run("call", "echo", "text=hi")).code).toBe(3);
    expect((await events())[0]).toMatchObject({
      decided_by: "operator",
      data: {
        file: "postern.yaml",
        reason: "too loud",
        changes: expect.arrayContaining(["The rule `quiet` is added."]),
      },
    });
  });

  it("stays as it is if any part of the file has a mistake, which is named with its place", async () => {
    const before = await events();
    write("limits: { max_tool_calls: many }", ...rule("{ effect: allow, tool: '*' }"));
    const refused = await run("policy", "reload");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("postern.yaml:5:27 limits.max_tool_calls:");
    child.kill("SIGHUP");
    await expect.poll(() => problems, { timeout: 10_000 }).toContain("postern.yaml:5:27 limits.max_tool_calls:");
    expect((await run("call", "echo", "text=hi")).code).toBe(3);
    expect(await events()).toEqual(before);
    const differs = async () => (await ask("GET", "/v1/policy/text")).body.differs;
    expect(await differs()).toEqual([expect.stringContaining("postern.yaml:5:27 limits.max_tool_calls:")]);
    write("autonomy: A3", ...rule("{ id: loud, effect: deny, tool: echo }"));
    expect(await differs()).toEqual(["The rule `loud` is added.", "The rule `quiet` is removed."]);
    write("autonomy: A3", ...rule("{ id: quiet, effect: deny, tool: echo }"));
    expect(await differs()).toEqual([]);
  });

  it("comes into force by SIGHUP, and a request that waits is judged by it", async () => {
    write(...rule("{ effect: allow, tool: '*' }"));
    expect((await run("policy", "reload")).code).toBe(0);
    const held = JSON.parse((await run("call", "send", "text=later", "--json", "--key", "k1")).out);
    expect(held.status).toBe("pending");
    write(...rule("{ id: closed, effect: deny, tool: send }"));
    child.kill("SIGHUP");
    await expect
      .poll(async () => (await events())[0]?.data.changes, { timeout: 10_000 })
      .toContain("The rule `closed` is added.");
    expect((await run("approvals", "approve", held.approval_id)).code).toBe(0);
    expect((await run("call", "send", "text=later", "--key", "k1")).code).toBe(3);
    expect(cli.runs).not.toContain("later");
    expect((await events())[0]).toMatchObject({ decided_by: "operator", decided_via: "signal" });
    expect(child.exitCode).toBeNull();
  });

  it("is saved and in force at once over HTTP, if the whole file is right", async () => {
    write(...rule("{ id: closed, effect: deny, tool: send }"));
    const { digest } = (await ask("GET", "/v1/policy/text")).body;
    const text = "policy:\n  rules:\n    - { id: open, effect: deny, tool: wipe }\n";
    const saved = await ask("POST", "/v1/policy/save", { text, expected_digest: digest, activate: true });
    expect(saved).toMatchObject({ status: 200, body: { in_force: { restart: [] } } });
    expect(saved.body.in_force.changes).toContain("The rule `open` is added.");
    expect((await ask("GET", "/v1/policy")).body.policy_version).toBe(saved.body.in_force.after_version);
    writeFileSync(file, readFileSync(file, "utf8").replace("port: 0", "prot: 0"));
    const broken = readFileSync(file, "utf8");
    const again = { text: text.replace("open", "shut"), expected_digest: saved.body.digest, activate: true };
    expect(await ask("POST", "/v1/policy/save", again)).toMatchObject({
      status: 422,
      body: { error: { code: "policy_refused", message: expect.stringContaining("postern.yaml:3:11 listen.prot") } },
    });
    expect(readFileSync(file, "utf8")).toBe(broken);
    expect(await ask("POST", "/v1/policy/reload", {})).toMatchObject({ status: 422 });
  });
});

it("says for `policy activate` that the file is the truth, if one Postern has the store", async () => {
  write();
  const refused = await run("policy", "activate", "postern.yaml");
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("`postern.yaml` is the truth") });
});

it("says that none runs, instead of starting one for `policy reload`", async () => {
  write();
  const none = await cli.run("policy", "reload", "--data", cli.dataFolder("none"));
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining("No Postern runs here") });
});
