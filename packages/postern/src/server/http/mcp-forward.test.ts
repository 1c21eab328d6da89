import { it } from "vitest";
import { collectGarbage } from "../../../../../test/fakes/garbage.ts";
import { httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import { listen, loopbackHosts } from "./serve.ts";

it.each(["GET", "POST"])(
  "passes on that a client left a stream of %s, also after a garbage collection",
  async (method) => {
    await using opened = new AsyncDisposableStack();
    const left = Promise.withResolvers<void>();
    let port = 0;
    const { server, tokens } = opened.use(
      await httpFixture(stubRuntime().runtime, {
        hosts: () => loopbackHosts(port),
        mcp: async ({ signal }) => {
          signal.addEventListener("abort", () => left.resolve());
          return new Response(
            new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(":\n")) }),
          );
        },
      }),
    );
    const listening = await listen({ handler: server, port });
    opened.defer(() => listening.close(100));
    port = listening.port;
    const leaving = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
      ...{ method, signal: leaving.signal, headers: { authorization: `Bearer ${tokens.agent}` } },
      ...(method === "POST" && { body: "{}" }),
    });
    const reader = answer.body?.getReader();
    await reader?.read();
    await collectGarbage();
    leaving.abort();
    await left.promise;
  },
);
