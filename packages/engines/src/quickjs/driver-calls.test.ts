import { expect, it } from "vitest";
import { type Answer, driveScript, returned, sketch } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";

const scripts = warmScripts();
const { run } = scripts;

it("calls a tool with actions by its name and by theirs", async () => {
  await using session = await scripts.begin(
    "await tools.disk({ n: 1 }); await tools.disk.wipe({ n: 2 }); await tools.wipe({ n: 3 }); Object.keys(tools)",
    { tools: [sketch("disk"), { ...sketch("disk__wipe"), server: "disk", short: "wipe" }] },
  );
  const ran = await driveScript(session);
  expect(ran.calls.map(({ tool }) => tool)).toEqual(["disk", "disk__wipe", "disk__wipe"]);
  expect(returned(ran)).toEqual(["disk"]);
});

it("calls tools with equal identifiers by their whole names", async () => {
  const alike = ["box__a-b", "box__a_b"].map((name) => ({ ...sketch(name), server: "box", short: "a_b" }));
  await using session = await scripts.begin(
    "await tools.box.a_b({}); await tools.box__a_b({}); await tools['box__a-b']({}); [tools.box.a_b === tools['box__a-b'], 'a_b' in tools]",
    { tools: alike },
  );
  const ran = await driveScript(session);
  expect(ran.calls.map(({ tool }) => tool)).toEqual(["box__a-b", "box__a_b", "box__a-b"]);
  expect(returned(ran)).toEqual([true, false]);
});

it("lists each tool once, with its actions, in the order of the offer", async () => {
  const tools = [sketch("disk"), { ...sketch("disk__wipe"), server: "disk", short: "wipe" }, sketch("my-tool")];
  const source =
    "[() => tools.nothing, () => tools.disk.nothing].map((ask) => { try { ask() } catch ({ message }) { return message } })";
  await using session = await scripts.begin(
    `const said = ${source}; [...said, Object.keys(tools), Object.keys(tools.disk)]`,
    { tools },
  );
  expect(returned(await driveScript(session))).toEqual([
    "There is no tools.nothing. There are: disk, disk.wipe, my-tool.",
    "There is no tools.disk.nothing. There are: wipe.",
    ["disk", "my-tool"],
    ["wipe"],
  ]);
});

it("offers no short name that two servers have", async () => {
  await using session = await scripts.begin("await tools.a.get({}); await tools.b.get({}); tools.get", {
    tools: [sketch("a.get", "a"), sketch("b.get", "b")],
  });
  const { calls, end } = await driveScript(session);
  expect(calls.map(({ tool }) => tool)).toEqual(["a.get", "b.get"]);
  expect(end).toMatchObject({ message: expect.stringContaining("There is no tools.get. There are: a.get, b.get.") });
});

it("lists the tools when a name is unknown (case 215)", async () => {
  const ran = await run("const a = 1;\nawait tools.files.delete({})");
  expect(ran.end).toMatchObject({ step: "failed", why: "script", line: 2 });
  expect(ran.end).toHaveProperty(
    "message",
    expect.stringContaining("There is no tools.files.delete. There are: read, write."),
  );
  expect(ran.calls).toEqual([]);
});

it("refuses names that begin with an underscore", async () => {
  const ran = await run("try { tools._echo } catch (error) { error.message }");
  expect(returned(ran)).toBe("tools._echo: names that begin with _ are not tools.");
});

it("makes calls of one moment together, in order, with their lines", async () => {
  const ran = await run(
    "const one = tools.echo({ n: 1 });\nawait Promise.all([one,\n  tools.files.read({ n: 2 })]);\nawait tools.echo({ n: 3 })",
  );
  expect(ran.batches.map((batch) => batch.map(({ place, tool, line }) => [place, tool, line]))).toEqual([
    [
      [0, "echo", 1],
      [1, "files.read", 3],
    ],
    [[2, "echo", 4]],
  ]);
});

it("continues with calls that are settled one by one", async () => {
  await using session = await scripts.begin(
    "await Promise.any([tools.echo({}), tools.echo({})])\nawait tools.read({})",
  );
  const first = await session.next();
  expect(first).toMatchObject({ step: "calls", calls: [{ place: 0 }, { place: 1 }] });
  await session.settle([{ place: 1, status: "error", value: null }]);
  expect(await session.next()).toEqual({ step: "calls", calls: [] });
  await session.settle([{ place: 0, status: "ok", value: null }]);
  expect(await session.next()).toMatchObject({ step: "calls", calls: [{ place: 2, tool: "files.read" }] });
});

it("throws code and advice for a refused or failed call", async () => {
  const source = `const seen = [];
for (const n of [1, 2]) try { await tools.echo({ n }) } catch (error) {
  seen.push([error.name, error instanceof ToolDenied, error instanceof ToolError, error.code, error.advice, error.message]) }
seen`;
  const ran = await run(source, {
    answer: ({ arguments: { n } }) =>
      n === 1
        ? {
            status: "denied",
            code: "approval_denied",
            message: "A person refused.",
            advice: "Do not repeat it.",
            value: null,
          }
        : { status: "error", code: "tool_failed", message: "It broke.", advice: "", value: null },
  });
  expect(returned(ran)).toEqual([
    ["ToolDenied", true, true, "approval_denied", "Do not repeat it.", "A person refused."],
    ["ToolError", false, true, "tool_failed", "", "It broke."],
  ]);
});

it("ends with code, advice and line of an uncaught exception", async () => {
  const ran = await run("const a = 1;\nawait tools.echo({ a })", {
    answer: () => ({ status: "denied", code: "scope_missing", message: "No.", advice: "Ask for it.", value: null }),
  });
  expect(ran.end).toMatchObject({
    step: "failed",
    why: "script",
    message: "ToolDenied: No. [scope_missing] Ask for it.",
    line: 2,
  });
});

it("hands a result on as its reference, or as its text (case 216)", async () => {
  const source =
    "const [a, b] = await Promise.all([tools.echo({ n: 1 }), tools.echo({ n: 2 })]);\nawait tools.write({ a, inside: [b] }); String(a)";
  const ran = await run(source, {
    answer: ({ arguments: { n } }) =>
      n === 1
        ? { status: "ok", value: { text: "", ref: "sha256:1", status: "ok" } }
        : { status: "ok", value: { text: "small" } },
  });
  expect(ran.calls[2]?.arguments).toEqual({ a: { $artifact: "sha256:1" }, inside: ["small"] });
  expect(returned(ran)).toBe("sha256:1");
});

it("materializes a result under /workspace with its full content (case 225)", async () => {
  const source = `const inline = await (await tools.echo({ n: 1 })).materialize();
const offloaded = await (await tools.echo({ n: 2 })).materialize();
[inline, files.read(inline), offloaded, files.read(offloaded)]`;
  const ran = await run(source, {
    answer: ({ kind, arguments: given }) => {
      if (kind === "materialize")
        return { status: "ok", value: { path: "/workspace/big.txt", text: `all of ${String(given["ref"])}` } };
      return { status: "ok", value: given["n"] === 1 ? { text: "whole" } : { text: "cut…", ref: "r2" } };
    },
  });
  expect(returned(ran)).toEqual(["/workspace/result_0.txt", "whole", "/workspace/big.txt", "all of r2"]);
});

it("returns a reference from artifacts.put that works as an argument (case 226)", async () => {
  const source = `files.write("/workspace/a.png", new Uint8Array([0, 255, 7]));
const put = await artifacts.put("/workspace/a.png", "image/png");
await tools.write({ put })`;
  const ran = await run(source, {
    answer: ({ kind }) => ({ status: "ok", value: kind === "artifact" ? { ref: "r9" } : {} }),
  });
  expect(ran.calls[0]).toMatchObject({ kind: "artifact", arguments: { type: "image/png", base64: "AP8H" } });
  expect(ran.calls[1]?.arguments).toEqual({ put: { $artifact: "r9" } });
});

it("keeps files of a script under /workspace only", async () => {
  const source = `["/etc/x", "/workspace/../etc/x", "", "/workspace/a/../b"].map((path) => { try { return files.write(path, "") } catch (error) { return error.name } })`;
  expect(returned(await run(source))).toEqual(Array(4).fill("TypeError"));
});

it("asks the host for help and progress", async () => {
  const ran = await run("await progress('half', 0.5); await help(tools.files.read)", {
    answer: ({ kind }) => ({ status: "ok", value: kind === "help" ? { text: "Reads." } : {} }),
  });
  expect(ran.calls).toMatchObject([
    { kind: "progress", arguments: { message: "half", fraction: 0.5 } },
    { kind: "help", arguments: { tool: "files.read" } },
  ]);
  expect(returned(ran)).toBe("Reads.");
});

const fell: Answer = () => ({ status: "error", code: "tool_failed", message: "it fell", value: null });

it.each([
  ['tools.echo({});\ntools.files.read({}); "done"', 1],
  ['tools.echo({}).then(() => 1); return "done"', 1],
  ['[1].forEach(async () => {\n await tools.echo({}); }); "done"', 2],
])("a failure that nothing waits for fails the script, as its language has it: %s", async (source, line) => {
  const { end } = await run(source, { answer: fell });
  expect(end).toMatchObject({ step: "failed", why: "script", line });
  expect(end).toHaveProperty("message", expect.stringMatching(/it fell.*Nothing waited for it.*await every call/));
});

it.each([
  'tools.echo({}).catch(() => {}); "done"',
  'await Promise.allSettled([tools.echo({}), tools.echo({})]); "done"',
  'try { await Promise.all([tools.echo({}), tools.echo({})]); } catch { "done" }',
  'const late = tools.echo({}); try { await tools.files.read({}); } catch {} try { await late; } catch { "done" }',
])("a failure that somebody waits for, however late, is theirs: %s", async (source) => {
  const ran = await run(source, { answer: fell });
  expect(returned(ran)).toBe("done");
});

it.each(["", "return "])("throws for arguments that are nested too deeply: %s", async (before) => {
  const ran = await run(`let deep = {}; for (let n = 0; n < 20_000; n++) deep = { deep };
    let said; try { await tools.echo({ deep }); } catch (error) { said = error.message; } ${before}said`);
  expect(returned(ran)).toBe("The arguments are nested deeper than 190 levels.");
  expect(ran.calls).toEqual([]);
});

it("keeps places when an action's text throws or calls a tool", async () => {
  const ran = await run(`const said = [];
    for (const action of [{ toString() { throw new Error("no text"); } }, { toString() { tools.echo({ inner: 1 }); return "read"; } }])
      try { await tools.echo({}, { action }); said.push("called"); } catch (error) { said.push(error.message); }
    said`);
  expect(returned(ran)).toEqual(["no text", "called"]);
  expect(ran.calls.map(({ place, action, arguments: given }) => [place, action, given])).toEqual([
    [0, undefined, { inner: 1 }],
    [1, "read", {}],
  ]);
});

it("shows values that are no JSON numbers", async () => {
  const ran = await run("console.log([NaN, { a: -Infinity }]); [0 / 0, new Map([['n', 1 / 0]])]");
  expect([ran.out, returned(ran)]).toEqual(['["NaN",{"a":"-Infinity"}]\n', ["NaN", { n: "Infinity" }]]);
});
