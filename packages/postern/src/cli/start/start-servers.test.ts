import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { CommandLine } from "../../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

const program = resolve("test/fakes/raw-server.ts");

function configured(name: string, servers: Readonly<Record<string, object>>): readonly string[] {
  const lines = Object.entries(servers).map(
    ([server, options]) =>
      `  ${server}: { command: ${process.execPath}, args: [${JSON.stringify(program)}, '${JSON.stringify(options)}'], risk: safe }`,
  );
  const path = join(cli.folder, `${name}.yaml`);
  writeFileSync(path, `listen: { port: 0 }\nservers:\n${lines.join("\n")}\n`);
  return ["--config", path];
}

/** `postern start`, and what it has printed when it says what to try next. */
async function started(
  name: string,
  servers: Readonly<Record<string, object>>,
): Promise<{ out: string; err: string; tookMs: number }> {
  const began = performance.now();
  const { child, end } = cli.open(["start", "--data", join(cli.folder, name), ...configured(name, servers)]);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await end;
  });
  let out = "";
  let err = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  for await (const chunk of child.stdout ?? []) {
    out += String(chunk);
    if (out.includes("Try next")) break;
  }
  return { out, err, tookMs: performance.now() - began };
}

it("`start` serves at once: a slow server is shown as connecting, the others' tools are there", async () => {
  const { out, err, tookMs } = await started("slow", { quick: {}, slow: { startAfterMs: 60_000 } });
  expect(err).toContain("Starting 2 servers: quick, slow …\n");
  expect(out).toMatch(/server +quick connected/);
  expect(out).toMatch(/server +slow connecting: its tools are offered as soon as it is connected/);
  expect(out).toMatch(/^quick__raw +safe +runs/m);
  expect(tookMs).toBeLessThan(13_000);
  const data = ["--data", join(cli.folder, "slow")];
  expect((await cli.run("call", "quick__shaped", ...data)).out).toContain("done");
});

it("the table of `start` has no row for each of very many tools, and says where the others are", async () => {
  const { out } = await started("many", { many: { tools: 500 } });
  expect(out.match(/^many__/gm)?.length).toBeLessThanOrEqual(100); // Postern's own tools come first
  expect(out).toMatch(/^and 40\d more: .*tools$/m);
  const { out: all } = await cli.run("tools", "--data", join(cli.folder, "many"));
  expect(all.match(/^many__more-\d+ +safe +runs/gm)).toHaveLength(500);
  const { out: log } = await cli.run("audit", "show", "--limit", "1000", "--data", join(cli.folder, "many"));
  expect(log).toMatch(/^\d+-\d+ .*mcp\.tool_pinned.* 50\d tools of `many` are pinned as they were first/m);
  expect(log.match(/mcp\.tool_pinned/g)).toHaveLength(1);
});
