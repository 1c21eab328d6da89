import { request } from "node:http";
import { feedEvent } from "@postern/core/contract";
import { describe, expect, it } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { bodyOf, type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { settled } from "../../../../core/src/testing/clock.ts";
import { loopbackHosts } from "./own-hosts.ts";
import { listen } from "./serve.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

interface ChannelFixture {
  readonly id?: string;
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

function frames(text: string): readonly ChannelFixture[] {
  return text
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => {
      const fields = new Map(
        frame.split("\n").map((line): [string, string] => {
          const at = line.indexOf(": ");
          return [line.slice(0, at), line.slice(at + 2)];
        }),
      );
      const { id, event, data } = Object.fromEntries(fields);
      return {
        ...(id !== undefined && { id }),
        ...(event !== undefined && { event }),
        ...(data !== undefined && { data: JSON.parse(data) }),
      };
    });
}

async function follow(
  h: RuntimeFixture,
  http: HttpFixture,
  path = "/v1/events",
  headers: Readonly<Record<string, string>> = {},
): Promise<{
  received(): Promise<readonly ChannelFixture[]>;
  cancel(): Promise<void>;
  status: number;
  response: Response;
}> {
  const response = await http.ask(path, { as: "operator", headers });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  void (async () => {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
      if (done) return;
      text += value;
    }
  })();
  return {
    status: response.status,
    response,
    async received() {
      await h.clock.advance(25);
      await settled();
      return frames(text);
    },
    cancel: async () => reader?.cancel(),
  };
}

describe("GET /v1/events", () => {
  it("tells what happens in the documented shape", async () => {
    await using h = await runtimeFixture();
    await using http = await httpFixture(h.runtime);
    const line = await follow(h, http);
    expect(line.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    await h.runtime.invoke(echo, asker);
    const [first, arrived, attempted, ...rest] = await line.received();
    expect(first).toEqual({ id: expect.stringMatching(/^-?\d+$/) });
    expect(arrived?.data).toMatchObject({ type: "tool_call.arrived", tool: "echo" });
    expect(attempted).toEqual({
      id: attempted?.data?.["id"],
      data: {
        id: expect.stringMatching(/^\d+$/),
        type: "tool_call.attempted",
        at: "2026-11-20T00:00:00.000Z",
        run_id: expect.any(String),
        call_id: expect.stringMatching(/^call_/),
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        agent: "a",
        tool: "echo",
        summary: "echo started",
        data: expect.objectContaining({ verdict: "ALLOW", risk_level: "safe", action: "default" }),
      },
    });
    expect(rest.map(({ data }) => data?.["type"])).toEqual(["tool_call.succeeded", "tool_call.left"]);
    for (const { data } of [arrived, attempted, ...rest].filter((one) => one !== undefined))
      expect(feedEvent.parse(data)).toEqual(data);
  });

  it("narrows to types, a run and a trace", async () => {
    await using h = await runtimeFixture();
    await using http = await httpFixture(h.runtime);
    const traceId = "a".repeat(32);
    const types = await follow(h, http, "/v1/events?type=tool_call.succeeded,operator.");
    const run = await follow(h, http, "/v1/events?run_id=mine");
    const trace = await follow(h, http, `/v1/events?trace_id=${traceId}`);
    await h.runtime.invoke(echo, { ...asker, runId: "mine" });
    await h.runtime.invoke(echo, { ...asker, runId: "other", traceId });
    await h.runtime.controls.pause(actor("boss"));
    const typesTold = (await types.received()).slice(1).map(({ data }) => data?.["type"]);
    expect(typesTold).toEqual(["tool_call.succeeded", "tool_call.succeeded", "operator.action.pause"]);
    expect(new Set((await run.received()).slice(1).map(({ data }) => data?.["run_id"]))).toEqual(new Set(["mine"]));
    expect(new Set((await trace.received()).slice(1).map(({ data }) => data?.["trace_id"]))).toEqual(
      new Set([traceId]),
    );
  });

  it("goes on after Last-Event-ID, and resets an id it cannot know", async () => {
    await using h = await runtimeFixture();
    await using http = await httpFixture(h.runtime);
    const line = await follow(h, http);
    await h.runtime.invoke(echo, asker);
    const seen = (await line.received()).at(2)?.id ?? "";
    await line.cancel();
    const back = await follow(h, http, "/v1/events", { "last-event-id": seen });
    expect((await back.received()).slice(0, 2).map(({ data }) => data?.["type"])).toEqual([
      "tool_call.succeeded",
      "tool_call.left",
    ]);
    const lost = await follow(h, http, "/v1/events?after=777777");
    expect((await lost.received())[0]).toMatchObject({ event: "reset", data: { data: { reason: "too_old" } } });
  });

  it("sends every event after `last_event_id` of the session, with and without an earlier reader", async () => {
    await using h = await runtimeFixture();
    await using http = await httpFixture(h.runtime);
    const session = async (as: "agent" | "operator") => await bodyOf(await http.ask("/v1/session", { as }));
    const since = async () => ({ "last-event-id": String((await session("operator"))["last_event_id"]) });
    const begins = [await since()];
    expect(begins).toEqual([{ "last-event-id": "-1" }]);
    await h.runtime.invoke(echo, asker);
    begins.push(await since());
    await h.runtime.controls.pause(actor("boss"));
    const first = await follow(h, http, "/v1/events", begins[0]);
    const received = (await first.received()).map(({ data }) => data?.["type"]).filter((type) => type !== undefined);
    expect(received).toEqual(["tool_call.attempted", "tool_call.succeeded", "operator.action.pause"]);
    await h.runtime.invoke(echo, asker); // refused, and announced: the feed stands between two entries
    begins.push(await since());
    await h.runtime.controls.resume(actor("boss"));
    const last = await follow(h, http, "/v1/events", begins[2]);
    expect((await last.received()).flatMap(({ data }) => data?.["type"] ?? [])).toEqual(["operator.action.resume"]);
    expect(await session("agent")).not.toHaveProperty("last_event_id");
  });

  it("is not for an agent's token, and refuses filters it does not know", async () => {
    await using h = await runtimeFixture();
    await using http = await httpFixture(h.runtime);
    expect((await http.ask("/v1/events", { as: "agent" })).status).toBe(403);
    const odd = await http.ask("/v1/events?kind=all", { as: "operator" });
    expect([odd.status, JSON.stringify(await bodyOf(odd))]).toEqual([422, expect.stringContaining("kind")]);
  });

  it("shows nothing of a secret that a tool says", async () => {
    const secrets = { get: async () => ({ reveal: () => "hunter2-hunter2" }) };
    await using h = await runtimeFixture({ secrets: secrets as never }, [
      {
        name: "leaky",
        description: "Says too much.",
        risk: "safe",
        idempotent: true,
        input: { type: "object" },
        execute: async (_: unknown, context) => {
          const value = (await context.secrets.get("mail", "key")).reveal();
          context.progress(`using ${value}`);
          context.emit("file.read", `read ${value}`, { path: value });
          return value;
        },
      },
    ]);
    await using http = await httpFixture(h.runtime);
    const line = await follow(h, http);
    await h.runtime.invoke({ tool: "leaky", arguments: {} }, asker);
    const received = await line.received();
    expect(received.map(({ data }) => data?.["type"])).toContain("tool_call.emitted");
    expect(JSON.stringify(received)).not.toContain("hunter2");
  });

  it("lets go of a reader that does not read, and keeps no more than half a mebibyte for it", async () => {
    await using h = await runtimeFixture();
    await using http = await httpFixture(h.runtime);
    const listening = await listen({ handler: { ...http.server, fetch: onOwnHost(http) }, port: 0 });
    const socket = await new Promise<import("node:http").IncomingMessage>((resolve) =>
      request(
        `${listening.url}/v1/events`,
        { headers: { authorization: `Bearer ${http.tokens.operator}`, host: loopbackHosts(7420)[0] } },
        resolve,
      ).end(),
    );
    socket.pause();
    let ended = false;
    socket.on("end", () => {
      ended = true;
    });
    for (let round = 0; round < 60; round += 1) {
      await Promise.all(Array.from({ length: 200 }, () => h.runtime.invoke(echo, asker)));
      await h.clock.advance(1_000);
    }
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.resume();
    await expect.poll(() => ended).toBe(true);
    expect(text).toContain('"reason":"too_slow"');
    await listening.close(100);
  });
});

/** The server has one name only; the socket has another port. */
function onOwnHost(http: HttpFixture): HttpFixture["server"]["fetch"] {
  return (asked, connection) =>
    http.server.fetch(new Request(asked.url.replace(/:\d+\//, ":7420/"), asked), connection);
}
