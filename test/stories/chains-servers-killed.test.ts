import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { readToken } from "../../packages/postern/src/server/credentials.ts";
import { chainGateway, script } from "../fakes/chain-gateway.ts";
import type { Gateway } from "../fakes/gateway.ts";

const both = { javascript: "script.ts", python: "script.py" } as const;

/** The same script in each language, with a call in the same line. */
function scriptOf(gateway: Gateway, language: keyof typeof both): string {
  const [big, copy] = ["big.txt", "copy.txt"].map((name) => JSON.stringify(gateway.file(name)));
  return language === "javascript"
    ? `type Sum = { text: string };
const big = await tools.filesystem.read_text_file({ path: ${big} });
const [sum, said]: Sum[] = await Promise.all([tools.everything.get_sum({ a: 20, b: 22 }), tools.everything.echo({ message: "hi" })]);
await tools.memory.create_entities({ entities: [{ name: "report", entityType: "file", observations: [sum.text] }] });
console.log("asking");
await tools.filesystem.write_file({ path: ${copy}, content: big });
({ isReference: big.ref !== undefined, inline: big.text.length, sum: sum.text, said: said.text });`
    : `import asyncio
big = tools.filesystem.read_text_file(path=${big})
both = await asyncio.gather(tools.everything.get_sum(a=20, b=22), tools.everything.echo(message="hi"))
tools.memory.create_entities(entities=[{"name": "report", "entityType": "file", "observations": [both[0].text]}])
print("asking")
tools.filesystem.write_file(path=${copy}, content=big)
{"isReference": big.ref != "", "inline": len(big.text), "sum": both[0].text, "said": both[1].text}`;
}

/** Returns a script whose value is the call's result. */
const cutShort = {
  javascript: `await tools.memory.create_entities({ entities: [{ name: "once", entityType: "x", observations: [] }] });
try { await tools.work({ job: "slow" }); } catch (error) { return error.message; }
return "it ended";`,
  python: `tools.memory.create_entities(entities=[{"name": "once", "entityType": "x", "observations": []}])
said = "it ended"
try:
    tools.work(job="slow")
except Exception as error:
    said = str(error)
said`,
};

const engines = await Promise.all(
  (["quickjs", "cpython"] as const).map(async (name) => {
    await using driver = await knownEngines.get(name)?.(new SystemClock());
    const missing = driver === undefined ? "there is no such engine" : await driver.unavailable();
    if (missing !== undefined) console.warn(`SKIPPED: ${name}: ${missing}`);
    return { name, language: name === "quickjs" ? "javascript" : "python", missing } as const;
  }),
);

describe.each(engines.filter(({ missing }) => missing === undefined))(
  "on $name, a script over three real servers, whose Postern is killed",
  ({ name, language }) => {
    it("reads a big file by reference, asks a person in the middle, is killed, and finishes", async () => {
      await using gateway = await chainGateway(name);
      const big = `${"0123456789abcdef".repeat(64)}\n`.repeat(4096);
      writeFileSync(gateway.file("big.txt"), big);
      const path = script(gateway, scriptOf(gateway, language), both[language]);
      const pending = await gateway.command("chain", "run", path, "--run", "story", "--json");
      expect(pending.code, pending.out + pending.err).toBe(4);
      const { approval_id: approval, call_id: id } = JSON.parse(pending.out);
      const listed = JSON.parse((await gateway.command("chain", "list", "--json")).out);
      expect(listed.chains).toMatchObject([
        { call_id: id, state: "waiting", engine: name, waiting: [{ tool: "filesystem__write_file", line: 6 }] },
      ]);
      await gateway.killAndStart();
      await (await gateway.operator()).approvals.approve({ id: approval });
      await gateway.killAndStart();
      const done = await gateway.command("chain", "run", path, "--run", "story", "--json");
      expect(done.code, done.out + done.err).toBe(0);
      const { structured, text } = JSON.parse(done.out);
      expect(text).toContain("asking");
      expect(structured).toMatchObject({ status: "ok", tool_calls: 5, engine: name });
      expect(JSON.parse(structured.output_text)).toMatchObject({ isReference: true, said: "Echo: hi" });
      expect(JSON.parse(structured.output_text).inline).toBeLessThan(4097);
      expect(readFileSync(gateway.file("copy.txt"), "utf8") === big).toBe(true);
      expect(readFileSync(join(gateway.folder, "memory.json"), "utf8").match(/report/g)).toHaveLength(1);
      expectNested(gateway, id);
      const { calls } = await timelineOf(gateway);
      const below = calls.filter(({ parent_id }) => parent_id !== undefined);
      expect(below.map(({ line }) => line).toSorted()).toEqual([2, 3, 3, 4, 6]);
      const chain = calls.find(({ tool }) => tool === "tool_chain");
      expect(new Set(below.map(({ parent_id }) => parent_id))).toEqual(new Set([chain?.call_id]));
      const again = JSON.parse((await gateway.command("chain", "run", path, "--run", "story", "--json")).out);
      expect(again.replayed).toBe(true);
    }, 300_000);

    it("killed in the middle of a call, is sent again and does nothing twice", async () => {
      await using gateway = await chainGateway(name);
      const path = script(gateway, cutShort[language], both[language]);
      const running = gateway.command("chain", "run", path, "--json");
      await expect.poll(() => gateway.diary, { timeout: 60_000 }).toContain("slow");
      await gateway.killAndStart();
      expect((await running).code).toBe(1);
      const done = JSON.parse((await gateway.command("chain", "run", path, "--json")).out);
      expect(done.structured).toMatchObject({
        status: "ok",
        output_text: expect.stringContaining("may have happened"),
      });
      expect(gateway.diary).toEqual(["slow"]);
      expect(readFileSync(join(gateway.folder, "memory.json"), "utf8").match(/"once"/g)).toHaveLength(1);
    }, 300_000);
  },
);

interface Kept {
  readonly event_id: string;
  readonly type: string;
  readonly parent_event_id?: string;
  readonly correlation_id?: string;
  readonly data: { readonly tool?: string };
}

/** In the run's folder, every call of the script is below the script, whichever process made it. */
function expectNested({ folder }: Gateway, id: string): void {
  const path = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((name) =>
    name.endsWith("story/events.jsonl"),
  );
  const lines = readFileSync(join(folder, path ?? ""), "utf8")
    .trim()
    .split("\n");
  const started = lines.map((line): Kept => JSON.parse(line)).filter(({ type }) => type === "tool.started");
  const parent = started.find(({ correlation_id }) => correlation_id === id);
  const children = started.filter(({ data }) => data.tool !== "tool_chain");
  expect(children).toHaveLength(5);
  for (const { data, parent_event_id } of children)
    expect([data.tool, parent_event_id]).toEqual([data.tool, parent?.event_id]);
}

interface Timeline {
  readonly calls: readonly {
    readonly call_id: string;
    readonly tool: string;
    readonly parent_id?: string;
    readonly line?: number;
  }[];
}

async function timelineOf(gateway: Gateway): Promise<Timeline> {
  const headers = { authorization: `Bearer ${await readToken(join(gateway.folder, ".postern"), "operator")}` };
  const answer = await fetch(`${gateway.url}/v1/runs/story/timeline`, { headers });
  return (await answer.json()) as Timeline; // as the route says
}
