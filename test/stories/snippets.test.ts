/** What the reference pages show runs as it stands there, and says what they say it says. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";

const root = join(import.meta.dirname, "../..");
const home = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "postern-snippets-"));
const index = pathToFileURL(join(root, "src/index.ts")).href;

afterAll(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => vi.restoreAllMocks());

function blocks(page: string, language: string): readonly string[] {
  const text = readFileSync(join(root, "docs/reference", page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, block = ""]) => block);
}

/** Whole programs: the others show one line of one. */
const programs = ["tools.md", "watchers.md", "audit.md"].flatMap((page) =>
  blocks(page, "ts")
    .filter((block) => block.startsWith("import "))
    .map((block, i) => ({ page, block, file: join(folder, `${page}-${i}.ts`) })),
);

beforeAll(() => {
  for (const block of blocks("tools.md", "js")) {
    const at = join(folder, /^\/\/ (\S+)$/m.exec(block)?.[1] ?? "");
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, block);
  }
  process.chdir(folder);
});

describe("a program on a page", () => {
  it("there are some", () => expect(programs).toHaveLength(5));

  it.each(programs)("runs and prints what its comments say: $page", async ({ block, file }) => {
    const promised = [...block.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, said]) => said);
    const printed: string[] = [];
    vi.spyOn(console, "log").mockImplementation((...words) => void printed.push(words.join(" ")));
    writeFileSync(file, block.replaceAll('from "postern"', `from ${JSON.stringify(index)}`));
    await import(pathToFileURL(file).href);
    expect(printed).toEqual(promised);
    expect(promised.length).toBeGreaterThan(0);
  });
});
