import type { PosternClient } from "@postern/core/contract";
import { describe, expect, it } from "vitest";
import { collectGarbage } from "../../../../../test/fakes/garbage.ts";
import { host, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { loopbackHosts } from "../http/own-hosts.ts";
import { listen } from "../http/serve.ts";
import { createClient } from "./client.ts";
import { followEvents } from "./event-client.ts";

interface Other extends AsyncDisposable {
  readonly agent: PosternClient;
  readonly operator: PosternClient;
  /** What its tool was given, once it was told to stop. */
  readonly stopped: readonly unknown[];
}

async function otherEnd(way: "a socket" | "a server in this process"): Promise<Other> {
  await using opened = new AsyncDisposableStack();
  const { runtime, ran: stopped } = opened.use(await runtimeFixture());
  let port = 0;
  const hosts = (): readonly string[] => (port === 0 ? [host] : loopbackHosts(port));
  const { server, tokens } = opened.use(await httpFixture(runtime, { hosts }));
  if (way === "a socket") {
    const listening = await listen({ handler: server, port });
    opened.defer(() => listening.close(100));
    port = listening.port;
  }
  const at =
    port === 0
      ? { url: `http://${host}`, send: (request: Request) => server.fetch(request) }
      : { url: `http://127.0.0.1:${port}` };
  const all = opened.move();
  return {
    agent: createClient({ ...at, token: tokens.agent }),
    operator: createClient({ ...at, token: tokens.operator }),
    stopped,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

describe.each(["a socket", "a server in this process"] as const)(
  "a client at %s, whatever was collected since",
  (way) => {
    it("stops following when its signal says so", async () => {
      await using other = await otherEnd(way);
      const ending = new AbortController();
      const live = Promise.withResolvers<void>();
      const following = (async () => {
        const wait = (): Promise<never> => expect.unreachable("the line broke");
        for await (const { kind } of followEvents(other.operator.events, {}, { signal: ending.signal, wait }))
          if (kind === "live") live.resolve();
      })();
      await live.promise;
      await collectGarbage();
      ending.abort();
      await following;
    });

    it("takes back a call that is under way", async () => {
      await using other = await otherEnd(way);
      const hangUp = new AbortController();
      const call = { tool: "echo", arguments: { to: "x", slow: true } };
      const takenBack = expect(other.agent.calls.call(call, hangUp.signal)).rejects.toThrow();
      const callsOf = async (): Promise<number> =>
        (await other.operator.calls.list({ state: "attempted" })).calls.length;
      await expect.poll(callsOf).toBe(1);
      await collectGarbage();
      hangUp.abort();
      await takenBack;
      await expect.poll(() => other.stopped).toEqual([call.arguments]);
    });
  },
);
