import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRuntime, defineTool, type Json, type Runtime } from "../../packages/postern/src/index.ts";
import { countHolds } from "../fakes/artifact-holds.ts";
import { ownFolder } from "../fakes/own-folder.ts";

const big = "line of text\n".repeat(20_000);
const png = Buffer.from("89504e470d0a1a0a", "hex").toString("base64");

interface Room extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly took: unknown[];
}

/** A runtime with tools that answer long texts and pictures, one that takes text, and a real engine. */
async function open(): Promise<Room> {
  const took: unknown[] = [];
  const safe = { risk: "safe", effects: "read", idempotent: true } as const;
  const input = { type: "object", properties: { body: { type: "string" } } } as const;
  const tools = [
    defineTool({ ...safe, name: "report", description: "Long.", execute: () => big }),
    defineTool({ ...safe, name: "small", description: "Short.", execute: () => "héllo" }),
    defineTool({
      ...safe,
      name: "chart",
      description: "A picture.",
      execute: () => ({ content: [{ type: "image", mediaType: "image/png", data: png }] }),
    }),
    defineTool({
      ...safe,
      name: "count",
      description: "Counts.",
      input,
      execute: (given) => {
        const { body } = given as { readonly body: string }; // the schema says so
        took.push(body);
        return { characters: body.length };
      },
    }),
  ];
  const runtime = await createRuntime({ tools, chains: { engines: ["quickjs"] } });
  return { runtime, took, [Symbol.asyncDispose]: () => runtime.close() };
}

async function answerOf({ runtime }: Room, code: string): Promise<Json> {
  const { structured, text } = await runtime.runChain({ code, language: "javascript" });
  const { status, output_text } = structured as { readonly status: string; readonly output_text: string }; // a ChainRunResult
  if (status !== "ok") throw new Error(text);
  return JSON.parse(output_text);
}

describe("big values in a script", () => {
  it("are passed on as a handle with a reference, and the next tool gets the bytes (case 216)", async () => {
    await using at = await open();
    const answer = await answerOf(
      at,
      `const report = await tools.report();
       const counted = await tools.count({ body: report });
       const short = await tools.count({ body: await tools.small() });
       return { seen: report.text.length, ref: report.ref !== undefined, counted: counted.structured, short: short.structured };`,
    );
    expect(answer).toMatchObject({ ref: true, counted: { characters: big.length }, short: { characters: 5 } });
    expect((answer as { readonly seen: number }).seen).toBeLessThan(4097);
    expect(at.took).toEqual([big, "héllo"]);
  });

  it("materialize to a path with the whole content, inline or offloaded (case 225)", async () => {
    await using at = await open();
    const answer = await answerOf(
      at,
      `const paths = [await (await tools.small()).materialize(), await (await tools.report()).materialize()];
       return paths.map((path) => [path.startsWith("/workspace/"), files.read(path).length]);`,
    );
    expect(answer).toEqual([
      [true, 5],
      [true, big.length],
    ]);
  });

  it("get a reference from artifacts.put that works as an argument and returns as media (case 226)", async () => {
    await using at = await open();
    const code = `files.write("/workspace/a.txt", "made here");
      const put = await artifacts.put("/workspace/a.txt", "image/png");
      const counted = await tools.count({ body: put });
      return counted.structured.characters;`;
    const outcome = await at.runtime.runChain({ code });
    const media = outcome.content.find(({ type }) => type === "image");
    expect(media).toMatchObject({ mediaType: "image/png", artifact: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(at.took).toEqual(["made here"]);
    expect(outcome.structured).toMatchObject({
      output_blocks_refs: [media !== undefined && "artifact" in media ? media.artifact : ""],
    });
  });

  it("stay held for the caller's session if they are returned, and not otherwise", async () => {
    await using at = await open();
    const held = countHolds(at.runtime);
    {
      await using session = at.runtime.openSession();
      const code = `await tools.report();
        files.write("/workspace/a.txt", "made here");
        await artifacts.put("/workspace/a.txt", "image/png"); return 1;`;
      const { content } = await session.invoke({ tool: "tool_chain", arguments: { code } });
      expect(content.filter(({ type }) => type === "image")).toHaveLength(1);
      expect(held()).toBe(1);
    }
    expect(held()).toBe(0);
  });

  it("are held again while the script continues after a wait", async () => {
    const seen: number[] = [];
    const tool = { description: "Says.", effects: "write", idempotent: false } as const;
    await using runtime = await createRuntime({
      tools: [
        defineTool({ ...tool, name: "mail", risk: "high", execute: () => "sent" }),
        defineTool({ ...tool, name: "look", risk: "safe", execute: () => String(seen.push(held())) }),
      ],
      approvals: { patience: "suspend" },
      chains: { engines: ["quickjs"] },
    });
    const held = countHolds(runtime);
    const code = `files.write("/workspace/a.txt", "made here"); await artifacts.put("/workspace/a.txt");
      await tools.look({}); await tools.mail({}); await tools.look({}); return 1;`;
    const pending = await runtime.runChain({ code }, { idempotencyKey: "k" });
    expect([held(), seen]).toEqual([0, [1]]);
    await runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: { user: "boss" } });
    expect((await runtime.runChain({ code }, { idempotencyKey: "k" })).status).toBe("ok");
    expect([held(), seen]).toEqual([0, [1, 1]]);
  });

  it("return as a block if the answer names a picture", async () => {
    await using at = await open();
    const named = await at.runtime.runChain({ code: "const c = await tools.chart(); return c.files;" });
    expect(named.content.filter(({ type }) => type === "image")).toHaveLength(1);
    const unnamed = await at.runtime.runChain({ code: "await tools.chart(); return 1;" });
    expect(unnamed.content.filter(({ type }) => type === "image")).toHaveLength(0);
  });

  it("are refused inside the script if they belong to another caller", async () => {
    await using at = await open();
    const digest = "0".repeat(64);
    const code = `const codes = [];
      try { await tools.count({ body: { $artifact: "${digest}" } }); } catch (error) { codes.push(error.code); }
      return codes;`;
    expect(await answerOf(at, code)).toEqual(["artifact_unavailable"]);
  });

  it("a failure of the artifact store has its code, and no path of this host", async () => {
    const folder = ownFolder();
    const logged: string[] = [];
    const log = (line: string): void => void logged.push(line);
    await using runtime = await createRuntime({ folder, log, tools: [], chains: { engines: ["quickjs"] } });
    rmSync(join(folder, "artifacts", "tmp"), { recursive: true });
    writeFileSync(join(folder, "artifacts", "tmp"), "in the way");
    const code = `files.write("/workspace/a.txt", "x");
      try { return await artifacts.put("/workspace/a.txt", "text/plain") } catch (error) { return [error.code, error.message] }`;
    const { text } = await runtime.runChain({ code });
    expect(text).toMatch(/result_unavailable.*\(E[A-Z]+\)/);
    expect(text).not.toContain(folder);
    expect(logged.join("\n")).toContain(folder);
  });

  it("help shows signatures and descriptions", async () => {
    await using at = await open();
    expect(await answerOf(at, "return [await help(tools.count), await help()];")).toEqual([
      "tools.count(args: { body?: string })\ntools.count(body: str = …)\nCounts.",
      expect.stringContaining("tools.report"),
    ]);
  });

  it("progress of the script is progress of the call", async () => {
    await using at = await open();
    const received: string[] = [];
    await at.runtime.runChain(
      { code: 'await progress("half way"); return 1;' },
      { onProgress: ({ content }) => void received.push(content) },
    );
    expect(received).toContain("half way");
  });
});
