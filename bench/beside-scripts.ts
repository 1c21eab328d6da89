/**
 * `npm run bench -- beside-scripts [--json] [--rounds N]`: HTTP calls of another process while a hostile script runs, and
 * while none does, in turns. Prints the calls' p99 and the p99 delay of the event loop.
 */
import { execFile } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { createRuntime } from "../packages/postern/src/index.ts";
import { tools } from "./chain-scenes.ts";
import { median } from "./harness.ts";
import type { ClientFigures } from "./http-client.ts";
import { served } from "./served.ts";

const { values } = parseArgs({ options: { json: { type: "boolean" }, rounds: { type: "string" } } });
const rounds = Number(values.rounds ?? 5);
const client = fileURLToPath(new URL("http-client.ts", import.meta.url));
const calls = "2000";

const scripts: Readonly<Record<string, string | undefined>> = {
  "no script": undefined,
  "an endless loop": "for (;;);",
  "calls without end": "for (;;) await Promise.all(Array.from({ length: 1000 }, () => tools.echo({ text: 'x' })));",
  "a full memory": "for (const all = []; ; ) all.push('x'.repeat(1e6) + all.length);",
  "endless output": "for (;;) console.log('x'.repeat(1e5));",
};

await using runtime = await createRuntime({ tools, chains: { limits: { maxToolCalls: 1_000_000 } } });
const { url, token, close } = await served(runtime);
const found = new Map(Object.keys(scripts).map((name) => [name, { p99: [] as number[], loop: [] as number[] }]));
for (let round = 0; round < rounds; round++)
  for (const [name, code] of Object.entries(scripts)) {
    const controller = new AbortController();
    const running = code === undefined ? undefined : keepRunning(code, controller.signal);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const { stdout } = await promisify(execFile)(process.execPath, [client, url, token, calls]);
    delay.disable();
    controller.abort();
    await running;
    const figures = JSON.parse(stdout) as ClientFigures; // our own program's
    found.get(name)?.p99.push(figures.p99Microseconds / 1e3);
    found.get(name)?.loop.push(delay.percentile(99) / 1e6);
  }
await close();

/** A script that ends is started again. */
async function keepRunning(code: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await runtime.runChain({ code, language: "javascript" }, { signal }).catch(() => undefined);
}

const alone = median(found.get("no script")?.p99 ?? []);
const figures = [...found].map(([beside, { p99, loop }]) => ({
  beside,
  callP99Ms: Number(median(p99).toFixed(2)),
  timesAlone: Number((median(p99) / alone).toFixed(2)),
  loopP99Ms: Number(median(loop).toFixed(1)),
}));
if (values.json === true) console.log(JSON.stringify({ rounds, figures }, null, 2));
else console.table(figures);
