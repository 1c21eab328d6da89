/** Text in descriptions and results that people cannot see, at every interface. */
import { expect, it } from "vitest";
import { defineTool } from "../../packages/postern/src/index.ts";
import { Changing, type ListedTool } from "../fakes/changing.ts";
import { corpus } from "../fakes/corpus.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { closeAfterTest, type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const tags = [..."hi"].map((letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join("");
const rows = [
  ["tag letters", `a${tags}b`, "a[U+E0068][U+E0069]b"],
  ["a bidi override", "a\u{202e}b", "a[U+202E]b"],
  ["zero-width characters", "a\u{200b}\u{2060}b", "a[U+200B][U+2060]b"],
  ["variation selectors", "a\u{fe01}\u{e0120}b", "a[U+FE01][U+E0120]b"],
  ["fillers", "a\u{3164}\u{115f}\u{2800}b", "a[U+3164][U+115F][U+2800]b"],
  ["a name in other letters", "call s\u{435}nd_mail", "call s[U+0435]nd_mail"],
] as const;

interface Scene extends ServedRuntime {
  readonly server: Changing;
}

async function scene(text: string): Promise<Scene> {
  const tool: ListedTool = {
    ...{ name: "read", title: text, description: text },
    inputSchema: { type: "object", properties: { path: { type: "string", description: text, enum: ["x", text] } } },
  };
  const server = closeAfterTest(new Changing(tool));
  const resource = { type: "resource", resource: { uri: "file:///a", text } };
  server.answers({ read: { content: [{ type: "text", text }, resource], structuredContent: { text } } });
  const own = defineTool({
    ...{ name: "fail", description: text, risk: "safe", idempotent: true, input: { type: "object" } },
    execute: () => {
      throw new Error(text);
    },
  });
  return {
    ...(await serveRuntime({ tools: [own], servers: { s: server.config({ risk: "safe" }) }, chains: {} })),
    server,
  };
}

it.each(rows)("shows %s in every description", async (_, text, shown) => {
  const { runtime, agent, connect } = await scene(text);
  const mcp = [await (await connect("/mcp")).listTools(), await (await connect("/mcp/s", "2025-11-25")).listTools()];
  const { tools: http } = await agent.tools.list();
  const [offered, schemas] = [runtime.offered(), runtime.tools.schemas()];
  for (const list of [...mcp, offered, http, schemas]) {
    const written = JSON.stringify(list);
    expect(written).not.toContain(text);
    expect(written).toContain(JSON.stringify(shown).slice(1, -1));
  }
});

it.each(rows)("shows %s in every result, and leaves structured values as they are", async (_, text, shown) => {
  const { runtime, agent, connect } = await scene(text);
  const structured = { text };
  const library = await runtime.invoke({ tool: "s__read" }, asker);
  expect(library).toMatchObject({ text: `${shown}\n${shown}`, structured });
  const http = await agent.calls.call({ tool: "s__read" });
  expect(http).toMatchObject({ text: `${shown}\n${shown}`, structured });
  const content = [{ text: shown }, { resource: { text: shown } }];
  for (const [path, name] of [
    ["/mcp", "s__read"],
    ["/mcp/s", "read"],
  ] as const) {
    const client = await connect(path);
    expect(await client.callTool({ name })).toMatchObject({ content, structuredContent: structured });
  }
  const failed = await runtime.invoke({ tool: "fail" }, asker);
  expect(failed.refusal?.message).toContain(shown);
  expect(JSON.stringify([failed, await agent.calls.call({ tool: "fail" })])).not.toContain(text);
});

it("shows hidden characters in a result that is read from the record", async () => {
  const [, text, shown] = rows[0];
  const { agent } = await scene(text);
  const { call_id: id } = await agent.calls.call({ tool: "s__read" });
  const { outcome } = await agent.calls.show({ id });
  expect(outcome?.text).toBe(`${shown}\n${shown}`);
});

it("gives a script the text unchanged, and shows hidden characters in the script's answer", async () => {
  const [, text, shown] = rows[0];
  const { runtime } = await scene(text);
  const code = `const got = await tools.s__read({}); return { same: got.text.startsWith("a\\u{e0068}"), said: got.text };`;
  const outcome = await runtime.invoke({ tool: "tool_chain", arguments: { code, language: "javascript" } }, asker);
  expect(outcome.text).toContain('"same":true');
  expect(outcome.text).toContain(JSON.stringify(shown).slice(1, -1));
  expect(outcome.text).not.toContain(text);
});

it.each([
  ["emoji", "Done 👩‍💻 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣"],
  ["Persian", "می\u{200c}خواهم"],
  ["Hindi", "क्\u{200d}षेत्र"],
  ["Hebrew", "שָׁלוֹם\u{200f} (C++)"],
])("leaves %s unchanged", async (_, text) => {
  const { runtime, connect } = await scene(text);
  expect(runtime.offered().find(({ tool }) => tool === "s__read")?.description).toBe(text);
  expect((await runtime.invoke({ tool: "s__read" }, asker)).text).toBe(`${text}\n${text}`);
  const { tools } = await (await connect("/mcp/s")).listTools();
  expect(tools.find(({ name }) => name === "read")?.description).toBe(text);
});

it("leaves out the mark at the beginning of a file", async () => {
  const { runtime } = await scene("\u{feff}text");
  expect((await runtime.invoke({ tool: "s__read" }, asker)).text).toBe("text\n[U+FEFF]text");
});

interface Confusable {
  readonly c: string;
}
const published = corpus<Confusable>("confusables/to_ascii.dev.json");

it.skipIf(published.length === 0)("lists no published look-alike in the name of a tool", async () => {
  const server = closeAfterTest(
    new Changing(...published.map(({ c }, n) => ({ name: `re${c}ad${n}`, inputSchema: { type: "object" } }))),
  );
  const { runtime, connect } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  for (const path of ["/mcp", "/mcp/s"]) {
    const { tools } = await (await connect(path)).listTools();
    expect(tools.length).toBe(published.length + 1);
    expect(tools.filter(({ name }) => !/^[ -~]+$/.test(name))).toEqual([]);
  }
  expect(runtime.health().servers[0]?.refused).toEqual([]);
});
