import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SystemClock } from "@postern/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { corpus } from "../../../../test/fakes/corpus.ts";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { createRedactor } from "../secrets/redactor.ts";
import { openSealedStore } from "../secrets/sealing-of-store.ts";
import { checkedFetch, isOwnMachine } from "../system/checked-fetch.ts";
import { type ConnectableServer, ConnectedServer } from "./connected-server.ts";
import { ConnectionRepository } from "./connection-repository.ts";

let sockets = 0;
const onSocket = (): void => {
  sockets += 1;
};
beforeEach(() => {
  sockets = 0;
  subscribe("net.client.socket", onSocket);
});
afterEach(() => {
  unsubscribe("net.client.socket", onSocket);
});

const inside = async (): Promise<{ address: string; family: number }[]> => [{ address: "10.0.0.1", family: 4 }];
const outside = { redirectUri: "http://127.0.0.1:7420/v1/connections/callback" };
const person = { tenant: "default", user: "ada" };
const refused = /machine of this network|not sent to|no address|user or a password/;

/** A server of the public internet, whose refusal names this address of its metadata. */
async function sceneOf(metadata: string, more: Partial<ConnectableServer> = {}): Promise<ConnectedServer> {
  const url = new URL("https://mcp.example/mcp");
  const server = { name: "far", address: "a", url: async () => url, oauth: {}, keys: [], allowPrivate: false, ...more };
  const log = (): void => {};
  const sealed = await openSealedStore(aLogStore(new SystemClock()), undefined, log);
  const scene = new ConnectedServer(server, {
    ...{
      repository: await ConnectionRepository.open({ sealed, redactor: createRedactor(), log }),
      store: sealed.store,
    },
    ...{ clock: new SystemClock(), log },
    resolveSecret: async () => "",
    consoleUrl: () => undefined,
    note: async () => undefined,
    resolve: inside,
  });
  const challenge = { "www-authenticate": `Bearer resource_metadata="${metadata}"` };
  const send = async (): Promise<Response> => new Response(null, { status: 401, headers: challenge });
  const asked = scene.access(undefined)?.authorize(send, url.origin)(url, { method: "POST" });
  await expect(asked).rejects.toThrow("can be called when a person signs in");
  return scene;
}

describe("metadata that points inside", () => {
  it.each([
    "http://169.254.169.254/latest/meta-data",
    "https://127.0.0.1/metadata",
    "https://[::1]/",
    "file:///etc/passwd",
  ])("opens no socket for %s", async (metadata) => {
    const scene = await sceneOf(metadata);
    await expect(scene.begin(person, outside)).rejects.toMatchObject({ code: "connection_failed" });
    await expect(scene.begin(person, outside)).rejects.toThrow(refused);
    expect(sockets).toBe(0);
  });

  const urls = corpus<{ readonly url: string }>("ssrf/urls.dev.json");
  it.runIf(urls.length > 0)("opens no socket for any published address", async () => {
    const found = urls.flatMap(({ url }) => [url, url.replace(/^http:/, "https:")]).filter((url) => URL.canParse(url));
    expect(found.length).toBeGreaterThan(10);
    for (const url of found) {
      const scene = await sceneOf(url.replaceAll('"', "%22").replaceAll(/[^\x20-\x7e]/g, ""));
      await expect(scene.begin(person, outside), url).rejects.toThrow(refused);
    }
    expect(sockets).toBe(0);
  });
});

describe("a request of a sign-in", () => {
  it("reaches a machine of this network only if the operator named it", async () => {
    const server = createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    await expect(checkedFetch({ allowPrivate: false })(url)).rejects.toThrow(refused);
    expect(sockets).toBe(0);
    expect(await (await checkedFetch({ allowPrivate: true })(url)).text()).toBe("{}");
    server.close();
  });

  it.each([
    ["http://127.0.0.1:3000/mcp", true],
    ["http://localhost/mcp", true],
    ["http://[::1]:80/", true],
    ["https://10.1.2.3/mcp", true],
    ["https://8.8.8.8/mcp", false],
    ["https://mcp.example/mcp", false],
    ["https://127.0.0.1.nip.io/mcp", false],
  ])("takes %s for a machine of the operator: %s", async (url, own) => {
    expect(await isOwnMachine(new URL(url))).toBe(own);
  });

  it("leaves redirects to its caller, and refuses an answer without an end", async () => {
    const endless = createServer((request, response) => {
      if (request.url === "/there") return void response.writeHead(302, { location: "http://10.0.0.1/" }).end();
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more).on("error", () => undefined);
      more();
    }).listen(0, "127.0.0.1");
    await once(endless, "listening");
    const { port } = endless.address() as AddressInfo;
    const send = checkedFetch({ allowPrivate: true });
    expect((await send(`http://127.0.0.1:${port}/there`)).status).toBe(302);
    await expect(send(`http://127.0.0.1:${port}/`)).rejects.toThrow("more than 1048576 bytes");
    endless.closeAllConnections();
    endless.close();
  });
});
