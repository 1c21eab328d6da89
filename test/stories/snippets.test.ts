/** The code of the pages is compiled like a user's code, and whole programs run and print what their comments say. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { entries } from "../fakes/entries.ts";

const root = join(import.meta.dirname, "../..");
const home = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "postern-snippets-"));

afterAll(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => vi.restoreAllMocks());

function blocks(page: string, language: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, block = ""]) => block);
}

const pages = [
  "README.md",
  ...["docs/guide", "docs/reference"].flatMap((within) =>
    readdirSync(join(root, within))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${within}/${name}`),
  ),
];
const all = pages.flatMap((page) =>
  blocks(page, "ts").map((block, i) => ({ page, block, name: `${page.replaceAll(/\W/g, "-")}-${i}` })),
);
/** Returns the output that a page shows. Other blocks are parts of a program, or need the reader's own values. */
const programs = all
  .filter(({ block }) => block.startsWith("import ") && /console\.log\(.*\); \/\/ /.test(block))
  .map((one) => ({ ...one, file: join(folder, `${one.name}.ts`) }));

/** The names that a page leaves to its reader's program. */
const ofTheReader = `import type { AiSdkMessage } from "@postern/agents/ai-sdk";
import type { LocalTool, Principal, Runtime } from "postern";
import type { AgentModel } from "@postern/agents/loop";
declare global {
  const chatId: string;
  const runId: string;
  const sendEmail: LocalTool;
  const model: AgentModel;
  const messages: AiSdkMessage[];
  const input: unknown[];
  const openai: { responses: { create(request: object): Promise<{ output: unknown[] }> } };
  function generateText(settings: object): Promise<{ text: string; responseMessages: AiSdkMessage[] }>;
  const tools: readonly LocalTool[];
  const principal: Principal;
  const runtime: Runtime;
  const prompt: string;
  const systemPrompt: string;
  const postern: string;
  const key: string;
  const approval_id: string;
  const shown_digest: string;
  const send: LocalTool;
  function score(text: string, signal: AbortSignal): Promise<number>;
  function post(to: string, token: string): Promise<string>;
  const transport: { send(mail: object): Promise<{ ok: true } | { ok: false; reason: string }> };
}
`;

/** Declares the third-party libraries that pages import, as far as the pages use them. */
const othersLibraries = `declare module "ai" {
  export function generateText(settings: object): Promise<{
    text: string;
    responseMessages: import("@postern/agents/ai-sdk").AiSdkMessage[];
  }>;
}
declare module "@anthropic-ai/claude-agent-sdk" {
  export function query(asked: { prompt: string; options: object }): AsyncIterable<object>;
}
`;

const usualImports = `import { createRuntime, defineTool } from "postern";
import { Webhook } from "standardwebhooks";
import { z } from "zod";
`;

/** The compiler options of `npm init` with `strict: true`, and no stricter. */
const configuration = {
  compilerOptions: {
    ...{ target: "es2024", lib: ["es2024"], module: "nodenext", strict: true, noEmit: true, skipLibCheck: true },
    ...{ allowImportingTsExtensions: true, types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
    paths: {
      ...Object.fromEntries(entries.map(({ name, source }) => [name, [source]])),
      zod: [join(root, "node_modules/zod/index.d.ts")],
      standardwebhooks: [join(root, "node_modules/standardwebhooks/dist/index.d.ts")],
    },
  },
  include: ["*.ts"],
};

/** Writes a page's block to a folder in which Node finds its imports. */
function placed(block: string): string {
  const zod = pathToFileURL(createRequire(import.meta.url).resolve("zod")).href;
  const sources = new Map(entries.map(({ name, source }) => [name, pathToFileURL(source).href]));
  return block.replaceAll(/from "(postern[^"]*|zod)"/g, (all, name: string) => {
    const source = name === "zod" ? zod : sources.get(name);
    return source === undefined ? all : `from "${source}"`;
  });
}

beforeAll(() => {
  for (const block of blocks("docs/reference/tools.md", "js")) {
    const at = join(folder, /^\/\/ (\S+)$/m.exec(block)?.[1] ?? "");
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, block);
  }
  process.chdir(folder);
});

it("the code of the pages compiles in a strict project", { timeout: 60_000 }, async () => {
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(configuration));
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "reader.ts"), ofTheReader);
  writeFileSync(join(project, "libraries.d.ts"), othersLibraries);
  for (const { name, block } of all)
    writeFileSync(join(project, `${name}.ts`), block.startsWith("import ") ? block : `${usualImports}${block}`);
  const tsc = join(root, "node_modules/.bin/tsc");
  const { stdout } = await promisify(execFile)(tsc, ["-p", project]).catch((failed: { stdout: string }) => failed);
  // Other checks compile the sources, with their own strictness.
  expect(stdout.split("\n").filter((line) => line.includes("project/"))).toEqual([]);
  expect(all.length).toBeGreaterThan(15);
});

describe("a program on a page", () => {
  it("exists", () =>
    expect(programs.map(({ page }) => page)).toEqual(expect.arrayContaining(["README.md", "docs/guide/library.md"])));

  it.each(programs)("runs and prints what its comments say: $page", async ({ block, file }) => {
    const promised = [...block.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, output]) => output);
    const printed: string[] = [];
    vi.spyOn(console, "log").mockImplementation((...words) => void printed.push(words.join(" ")));
    writeFileSync(file, placed(block));
    await import(pathToFileURL(file).href);
    expect([...new Set(printed)]).toEqual([...new Set(promised)]);
  });
});
