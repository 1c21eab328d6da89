import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Only a checkout has it; the package holds what was built. */
const sources: string = fileURLToPath(new URL("../../../../../console", import.meta.url));
const isCheckout = import.meta.url.endsWith(".ts");

/**
 * In a checkout, builds the console when a browser first asks for it and its sources are newer than what was built, so
 * that `npm install && npm start` is all. Elsewhere it does nothing.
 *
 * @returns why there is no console; undefined if there is one
 */
export async function buildConsole(folder: string): Promise<string | undefined> {
  if (!isCheckout || !existsSync(join(sources, "vite.config.ts"))) return undefined;
  const builtAt = await changedAt(join(folder, "index.html"));
  if (builtAt > 0 && builtAt >= (await newest())) return undefined;
  const vite = viteCommand();
  // An old console is better than none.
  if (vite === undefined) return builtAt > 0 ? undefined : "Vite, which builds it, is not installed.";
  // Built beside its place and then moved, so that no other process sees half of it.
  const making = join(dirname(folder), `.console-${process.pid}`);
  const problem = await run(vite, ["build", sources, "--outDir", making, "--emptyOutDir", "--logLevel", "error"]);
  if (problem !== undefined) return `It could not be built: ${problem}`;
  await rm(folder, { recursive: true, force: true });
  await rename(making, folder).catch(() => rm(making, { recursive: true, force: true })); // another process was first
  return undefined;
}

/** Folders of sources: the console's own, and those that are built into it. */
const folders = ["src", "../packages/core/src"];

async function newest(): Promise<number> {
  const listed = folders.map(async (folder) => {
    const entries = await readdir(join(sources, folder), { recursive: true });
    return entries.map((entry) => join(folder, entry));
  });
  const files = [...(await Promise.all(listed)).flat(), "index.html", "vite.config.ts", "public", "package.json"];
  return Math.max(...(await Promise.all(files.map((file) => changedAt(join(sources, file))))));
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return 0; // not there: older than everything
  }
}

function viteCommand(): string | undefined {
  try {
    const manifest = createRequire(join(sources, "package.json")).resolve("vite/package.json");
    return join(dirname(manifest), "bin", "vite.js");
  } catch {
    return undefined; // not installed: `npm install --omit=dev`
  }
}

function run(script: string, options: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, ...options], {
      cwd: sources,
      env: { ...process.env, NODE_ENV: "production" }, // Vite would build what tests or developers run
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (piece: Buffer) => {
      errors = (errors + piece.toString("utf8")).slice(-2_000);
    });
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => resolve(code === 0 ? undefined : errors.trim() || `Vite ended with ${code}.`));
  });
}
