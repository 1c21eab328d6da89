import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { claudeProgram } from "./claude-stub.ts";

const root = join(import.meta.dirname, "../..");
const source = join(root, "examples/agents");
/** Beside the libraries, where a user's project would have them. */
const copies = join(import.meta.dirname, "temp");
const run = promisify(execFile);

beforeAll(async () => {
  await rm(copies, { recursive: true, force: true });
  await mkdir(copies, { recursive: true });
  await cp(source, copies, { recursive: true });
});

afterAll(() => rm(copies, { recursive: true, force: true }));

/** This one starts the SDK's program, which `npm run test:agents -- --claude` installs. */
const needsProgram = (name: string): boolean => name === "claude-agent.ts" && claudeProgram === undefined;
const examples = (await readdir(source)).filter((name) => name.endsWith(".ts") && !needsProgram(name));

/** What an example needs beside the libraries. */
const chromium = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const hasChromium = existsSync(chromium);
if (!hasChromium)
  console.warn(`SKIPPED: the example browser.ts: there is no ${chromium}; name a Chromium in CHROMIUM.`);
const runnable = examples.filter((name) => name !== "browser.ts" || hasChromium);

/** Ends a process that opens a connection to another machine. */
const offline = `data:text/javascript,${encodeURIComponent(`
import { Socket } from "node:net";
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...to) {
  if (to.flat()[0]?.host === "127.0.0.1") return Reflect.apply(connect, this, to);
  console.error("the example opened a connection");
  process.exit(1);
};`)}`;

it.each(runnable)("%s does its work once, offline, in at most 60 lines", async (name) => {
  const { stdout } = await run(process.execPath, ["--import", offline, join(copies, name)]);
  expect(stdout.match(/\(a mail leaves for|\(the file holds "buy tea/g)).toHaveLength(1);
  const lines = (await readFile(join(source, name), "utf8")).trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(60);
});
