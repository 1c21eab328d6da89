/** The tools `computer` and `browser` in a real Chromium, for tests. */
import { existsSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { openAgentTools, type RenderedToolAnswer } from "../../packages/agents/src/agent-tools.ts";
import { anthropicToolUses } from "../../packages/agents/src/anthropic.ts";
import { type BrowserToolsOptions, browserTools } from "../../packages/agents/src/browser.ts";
import { createRuntime, type RuntimeOptions } from "../../packages/postern/src/index.ts";

const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const executablePath = places.find((place) => place !== undefined && existsSync(place));
if (executablePath === undefined)
  console.warn("SKIPPED: the tools `computer` and `browser`: there is no Chromium; name one in CHROMIUM.");

export interface Stage extends AsyncDisposable {
  readonly runtime: Awaited<ReturnType<typeof createRuntime>>;
  readonly tools: ReturnType<typeof openAgentTools>;
  /** One call, as Anthropic's toolset `browser` makes it. */
  readonly act: (name: string, input?: object) => Promise<RenderedToolAnswer>;
}

let calls = 0;
export async function stage(
  more: Partial<BrowserToolsOptions> = {},
  options: RuntimeOptions = { autonomy: "A3" },
): Promise<Stage> {
  const box = browserTools({
    ...{ allowedHosts: ["127.0.0.1"], allowPrivate: true, sandbox: false, actionTimeoutMs: 4_000 },
    ...(executablePath !== undefined && { executablePath }),
    ...more,
  });
  const runtime = await createRuntime({ tools: box, ...options });
  const tools = openAgentTools(runtime, { runId: "run" });
  return {
    runtime,
    tools,
    act: (name, input = {}) => {
      calls += 1;
      const block = { type: "tool_use", id: `toolu_${calls}`, name, input, toolset_name: "browser" };
      return tools.call(anthropicToolUses([block])[0] ?? { name: "none" });
    },
    async [Symbol.asyncDispose]() {
      await tools[Symbol.asyncDispose]();
      await runtime.close();
      await box.close();
    },
  };
}

export const at = (x: number, y: number): object => ({ target: { type: "coordinate", x, y } });

export interface Site extends AsyncDisposable {
  readonly port: number;
}

/** A web server at an address of this machine. `127.0.0.1` and `127.0.0.2` are two hosts, and two sites for Chromium. */
export async function site(host: string, listener: RequestListener, port = 0): Promise<Site> {
  const server = createServer(listener);
  await new Promise<void>((listening) => server.listen(port, host, listening));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
