import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PosternProcess } from "../fakes/postern-process.ts";

const cli = new PosternProcess();
const data = join(cli.folder, "data");
let running: Awaited<ReturnType<PosternProcess["start"]>>;
let proxy: Between;

/** A proxy between the command and Postern that can stop requests and answers. */
class Between {
  readonly #server: Server;
  /** `before`: Postern does not get the request. `after`: the command does not get the answer. */
  stop:
    | { readonly what: (request: IncomingMessage) => boolean; readonly when: "before" | "after"; done(): void }
    | undefined;

  constructor(port: number) {
    this.#server = createServer((request, response) => void this.#pass(request, response, port));
  }

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return String((this.#server.address() as AddressInfo).port);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #pass(request: IncomingMessage, response: ServerResponse, port: number): Promise<void> {
    const stop = this.stop?.what(request) === true ? this.stop : undefined;
    if (stop?.when === "before") return stop.done();
    const headers = { ...request.headers, host: `127.0.0.1:${port}` };
    const { method, url: path } = request;
    const forwarded = httpRequest({ host: "127.0.0.1", port, method, path, headers });
    request.pipe(forwarded);
    response.on("close", () => forwarded.destroy()); // who has gone is gone on the other side too
    const answers = once(forwarded, "response") as Promise<[IncomingMessage]>;
    const [answer] = await answers.catch(() => [undefined]);
    if (answer === undefined) return;
    if (stop !== undefined) return stop.done();
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  }
}

beforeAll(async () => {
  const turns = [{ uses: [{ name: "slow", arguments: { seconds: 0.5 } }] }, { text: "Done." }];
  writeFileSync(join(cli.folder, "script.json"), JSON.stringify({ prompt: "Go.", turns }));
  writeFileSync(join(cli.folder, "model.mjs"), hangingModel(join(cli.folder, "asked")));
  running = await cli.start(data);
  const { port }: { port: number } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
  proxy = new Between(port);
}, 60_000);
afterAll(() => {
  running.child.kill("SIGKILL");
  proxy.close();
  cli[Symbol.dispose]();
});

/** A model that never answers its first request, and answers later ones as usual. */
function hangingModel(marker: string): string {
  return `import { existsSync, writeFileSync } from "node:fs";
const finish = { type: "finish", usage: { inputTokens: {}, outputTokens: {} } };
const call = { type: "tool-call", toolCallId: "c1", toolName: "slow", input: '{"seconds":0}' };
const text = [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Done." }];
export const make = (modelId) => ({ specificationVersion: "v4", provider: "test", modelId,
  doStream: async ({ prompt }) => {
    if (!existsSync(${JSON.stringify(marker)})) {
      writeFileSync(${JSON.stringify(marker)}, "");
      await new Promise((done) => setTimeout(done, 600_000));
    }
    return { stream: ReadableStream.from([...(prompt.at(-1).role === "tool" ? text : [call]), finish]) };
  } });
`;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, "close");
  child.kill("SIGKILL");
  await gone;
}

const script = ["--script", "script.json"];

/** Runs a command that is killed at `reached`, runs it again, and returns how often the tool had its effect. */
async function effectsOf(runId: string, words: readonly string[], reached: () => Promise<void>): Promise<number> {
  const before = cli.runs.filter((line) => line === "slow").length;
  const { child } = cli.open(["agent", "run", ...words, "--run-id", runId, "--data", data]);
  await reached();
  await kill(child);
  proxy.stop = undefined;
  const resumed = await cli.run("agent", "resume", runId, "--data", data);
  expect(resumed).toMatchObject({ code: 0, out: "Done.\n" });
  return cli.runs.filter((line) => line === "slow").length - before;
}

const isCall = ({ method, url }: IncomingMessage): boolean => method === "POST" && url === "/v1/calls";

/** Stops the n-th request of this kind. */
function stopped(what: (request: IncomingMessage) => boolean, when: "before" | "after", nth = 1): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  proxy.stop = {
    what: (request) => {
      if (what(request)) seen += 1;
      return what(request) && seen === nth;
    },
    when,
    done: resolve,
  };
  return () => promise;
}

it("asks the model again when the command is killed during the model's answer", async () => {
  const isAsked = () => until(() => existsSync(join(cli.folder, "asked")));
  expect(await effectsOf("model", ["--model", "./model.mjs#make/any", "--prompt", "Go."], isAsked)).toBe(1);
});

it("makes a call once when the command is killed before, during or after it, or before its answer is kept", async () => {
  const port = await proxy.open();
  const to = [...script, "--port", port];
  expect(await effectsOf("before", to, stopped(isCall, "before"))).toBe(1);
  expect(await effectsOf("after", to, stopped(isCall, "after"))).toBe(1);
  const isSave = ({ method }: IncomingMessage): boolean => method === "PUT";
  expect(await effectsOf("unkept", to, stopped(isSave, "before", 3))).toBe(1);
  const already = cli.runs.length; // last: the same call anywhere is refused while nobody knows what became of it
  expect(await effectsOf("during", to, () => until(() => cli.runs.length > already))).toBe(1);
});

it("makes a call once when the command is killed with the Postern inside it", async () => {
  const own = join(cli.folder, ".postern");
  const already = cli.runs.length;
  const { child } = cli.open(["agent", "run", ...script, "--run-id", "inside", "--data", own]);
  await until(() => cli.runs.length > already);
  await kill(child);
  const resumed = await cli.run("agent", "resume", "inside", "--data", own);
  expect(resumed).toMatchObject({ code: 0, out: "Done.\n" });
  expect(resumed.err).toContain("outcome_unknown");
  expect(cli.runs.length - already).toBe(1);
});
