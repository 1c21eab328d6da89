import { expect, it } from "vitest";
import { routed } from "../../../../test/fakes/deciders.ts";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { asker, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { openCredentials } from "../server/credentials.ts";
import { createHttpServer } from "../server/http/http-server.ts";
import type { Host } from "./host.ts";
import { createProgram } from "./program.ts";

const folder = ownFolder();

async function room(...given: Parameters<typeof runtimeFixture>) {
  const h = await runtimeFixture(...given);
  const hosts = () => ["postern.inside"];
  const credentials = await openCredentials(folder);
  const http = createHttpServer({ runtime: h.runtime, credentials, clock: h.clock, hosts });
  const printed: string[] = [];
  const out = (text: string) => void printed.push(text);
  const host = {
    terminal: { out, aside: out, colour: false, columns: 300, interactive: false, screen: false },
    clock: h.clock,
    dataFolder: async () => folder,
    wantedPort: () => undefined,
    startInside: async () => ({ url: "http://postern.inside", send: http.fetch, close: async () => {} }),
  } as unknown as Host; // what a list needs
  const listed = async (): Promise<string> => {
    await createProgram(host, "1.2.3").run(["approvals"]);
    return printed.splice(0).join("");
  };
  return { h, listed };
}

it("the table of approvals says which have gone to more people, because no answer came", async () => {
  const late = routed({
    name: "late",
    match: { tools: ["mail"] },
    escalateAfterMs: 60_000,
    escalateTo: { roles: ["admin"] },
  });
  const { h, listed } = await room(late);
  await using _ = h;
  await h.runtime.invoke({ tool: "mail", arguments: { to: "ann" } }, asker);
  expect(await listed()).toMatch(/ left +\{"to":"ann"\}$/m);
  await h.clock.advance(60_001);
  await expect.poll(listed).toMatch(/ left, escalated +\{"to":"ann"\}$/m);
});

it("the table of approvals names the action of a tool that has several", async () => {
  const orders = {
    name: "orders",
    description: "Looks after orders.",
    effects: "write",
    idempotent: false,
    input: { type: "object" },
    execute: () => "done",
  } as const;
  const several = {
    ...orders,
    risk: "high",
    actions: { delete: { description: "Deletes one.", input: orders.input, execute: () => "gone" } },
  } as const;
  const { h, listed } = await room({ approvals: { patience: "suspend" } }, [several]);
  await using _ = h;
  await h.runtime.invoke({ tool: "orders", action: "delete", arguments: {} }, asker);
  expect(await listed()).toContain(" orders · delete ");
});
