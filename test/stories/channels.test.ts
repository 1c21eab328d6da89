import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readServerFile } from "../../packages/postern/src/cli/start/server-file.ts";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { readToken } from "../../packages/postern/src/server/credentials.ts";
import { CommandLine } from "../fakes/command-line.ts";
import type { PosternProcess } from "../fakes/postern-process.ts";
import { type Receiver, receiver } from "../fakes/receiver.ts";

const key = `whsec_${randomBytes(32).toString("base64")}`;

const bodyOf = ({ requests }: Receiver, at: number): { readonly type: string; readonly data: unknown } =>
  JSON.parse(requests[at]?.body ?? "{}"); // what was posted

/** A tool that takes its time and says how far it is. */
const counting = `export const count = defineTool({ name: "count", description: "Counts.", risk: "safe", idempotent: true, inputSchema: any,
  execute: async (_, context) => { for (const at of [1, 2, 3]) { context.progress("step " + at + " of 3"); await new Promise((done) => setTimeout(done, 150)); } return "counted"; } });\n`;

/** What a channel does when a process is killed is proven in packages/postern/src/observe/notify/outbox-restart.test.ts. */
describe("a running Postern with a channel", () => {
  const postern = new CommandLine();
  const data = join(postern.folder, "data");
  let at: Receiver;
  let running: Awaited<ReturnType<PosternProcess["start"]>>;

  beforeAll(async () => {
    at = await receiver();
    const lines = [
      "channels:",
      "  console_url: https://postern.example",
      "  webhooks:",
      `    - { name: hook, url: "${at.url}/in", secret: secret://hooks/key, allow_private: true, users: { U1: ann } }`,
    ];
    appendFileSync(join(postern.folder, "postern.yaml"), `${lines.join("\n")}\n`);
    appendFileSync(join(postern.folder, "tools.ts"), counting);
    postern.dataFolder("data");
    const { child, end } = postern.open(["secrets", "set", "hooks", "key", "--data", "data"]);
    child.stdin?.end(key);
    expect((await end).code).toBe(0);
    running = await postern.start("data");
  });
  afterAll(async () => {
    running.child.kill("SIGTERM");
    await running.end;
    postern[Symbol.dispose]();
    await at[Symbol.asyncDispose]();
  });

  it("delivers a request with a link and a signature", async () => {
    expect((await postern.run("call", "send", "text=hello", "--data", "data")).code).toBe(4);
    await at.count(1);
    const headers = at.requests[0]?.headers as Record<string, string>; // ours are single
    expect(new Webhook(key).verify(at.requests[0]?.body ?? "", headers)).toMatchObject({
      type: "approval.requested",
      data: {
        approval: { tool: "send", status: "pending" },
        link: expect.stringContaining("https://postern.example/approvals/apr_"),
      },
    });
  });

  it("lists and tests its channels by command", async () => {
    const listed = await postern.run("channels", "list", "--json", "--data", "data");
    expect(JSON.parse(listed.out)).toMatchObject({ channels: [{ name: "hook", kind: "webhook", dead: [] }] });
    const before = at.requests.length;
    expect((await postern.run("channels", "test", "hook", "--data", "data")).code).toBe(0);
    await at.count(before + 1);
    expect(bodyOf(at, before).type).toBe("channel.test");
    at.answers.push({ status: 500 });
    const refused = await postern.run("channels", "test", "hook", "--data", "data");
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("500")]);
    expect((await postern.run("channels", "retry", "none", "--data", "data")).code).toBe(1);
  });

  it("shows the progress of a long call as it happens, as a call without it does", async () => {
    const called = await postern.run("call", "count", "--progress", "--data", "data");
    expect(called).toMatchObject({ code: 0, out: "counted\n" });
    expect(called.err.split("\n").filter((line) => line.startsWith("…"))).toEqual([
      "… step 1 of 3",
      "… step 2 of 3",
      "… step 3 of 3",
    ]);
    const inside = await postern.run("call", "count", "--progress", "--data", postern.dataFolder("other"));
    expect(inside.err).toContain("step 2 of 3");
  });

  it("logs what people do: secrets by name, alarms by who acknowledged them", async () => {
    const { url = "" } = readServerFile(data) ?? {};
    const as = async (role: "agent" | "operator") => createClient({ url, token: (await readToken(data, role)) ?? "" });
    const agent = await as("agent");
    for (let call = 0; call < 5; call += 1)
      await agent.calls.call({ tool: "fail", arguments: {}, idempotency_key: `k${call}` });
    const listed = await postern.run("alarms", "--json", "--data", "data");
    const { alarms } = JSON.parse(listed.out) as { alarms: { alarm_id: string; kind: string }[] };
    expect(alarms).toEqual([expect.objectContaining({ kind: "tool_errors", state: "open" })]);
    const id = alarms[0]?.alarm_id ?? "";
    expect((await postern.run("alarms", "ack", id, "--reason", "seen", "--data", "data")).code).toBe(0);
    const operator = await as("operator");
    expect(await operator.alarms.resolve({ id })).toMatchObject({
      ...{ state: "resolved", resolved: { by: "operator", via: "token:operator" } },
      acked: { by: "operator", via: "token:operator", reason: "seen" },
    });
    await expect(operator.alarms.resolve({ id })).rejects.toMatchObject({ code: "alarm_resolved" });
    expect((await postern.run("secrets", "remove", "hooks", "key", "--data", "data")).code).toBe(0);
    const { events } = await operator.audit.list({ limit: 1_000 });
    const types = events.map(({ type }) => type);
    expect(types).toEqual(
      expect.arrayContaining([
        "alarm.tool_errors",
        "alarm.acknowledged",
        "alarm.resolved",
        "operator.action.secret_removed",
      ]),
    );
    const set = events.find(({ type }) => type === "operator.action.secret_set");
    expect(set).toMatchObject({
      data: { connector: "hooks", key: "key" },
      decided_by: "operator",
      decided_via: "token:operator",
    });
    expect(JSON.stringify(events)).not.toContain(key.slice(10, 40));
  });
});
