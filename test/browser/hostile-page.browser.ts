/** A page of another site in the browser of a signed-in person: it reads nothing and decides nothing. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { armed, mail } from "./card.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

let server: Server;
let port = 0;
const asked: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.setHeader("content-type", "text/html").end("<!doctype html><title>Win a prize</title><body></body>");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  ({ port } = server.address() as AddressInfo); // it listens on TCP
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

/** The same site as Postern (a port is no part of a site: its cookies are sent), and another one. */
const origins = [
  ["another port of the same host", "127.0.0.1"],
  ["localhost", "localhost"],
] as const;

describe.each(origins)("a page of %s", (_, host) => {
  it("gets no readable answer by any request, under either name of the server", async () => {
    const id = await postern.ask("send_email", mail(`from ${host}`));
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    const page = await grace.context.newPage();
    await page.goto(`http://${host}:${port}/`);
    for (const target of [postern.url, `http://localhost:${postern.port}`]) {
      const read = await page.evaluate<Readonly<Record<string, string>>>(
        `(${everyWay})(${JSON.stringify([target, id])})`,
      );
      expect(read).toEqual({
        fetch: "refused",
        "fetch with a cookie": "refused",
        "fetch with a proof": "refused",
        "no-cors": "opaque",
        events: "refused",
        script: "refused",
        frame: "nothing to see",
        window: "nothing to see",
      });
    }
    expect(await postern.approval(id)).toMatchObject({ status: "pending", votes: [] });
    expect(asked.filter((url) => url.length > 1 && url !== "/favicon.ico")).toEqual([]); // the page received nothing
  });

  it("decides nothing: not by fetch, by a form, by a beacon, in a frame or in a new window", async () => {
    const id = await postern.ask("send_email", mail(`decided by ${host}`));
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    const page = await grace.context.newPage();
    const answers: number[] = [];
    let sent = 0;
    grace.context.on("request", (request) => {
      if (request.method() === "POST") sent += 1;
    });
    grace.context.on("response", (answer) => {
      if (answer.request().method() === "POST") answers.push(answer.status()); // the browser hides the other statuses
    });
    const senders = await Promise.all(
      ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"].map(
        async (type) => [type, await grace.context.newPage()] as const,
      ),
    );
    for (const target of [postern.url, `http://localhost:${postern.port}`]) {
      for (const verb of ["approve", "deny", "withdraw", "modify"]) {
        const url = `${target}/v1/approvals/${id}/${verb}`;
        await page.goto(`http://${host}:${port}/`);
        await page.evaluate(`(${everyPost})(${JSON.stringify(url)})`);
        await Promise.all(
          senders.map(async ([type, sender]) => {
            await sender.goto(`http://${host}:${port}/`);
            const sending = sender.evaluate(`(${form})(${JSON.stringify([url, type])})`);
            await Promise.all([sender.waitForURL(url, { waitUntil: "commit" }), sending]);
          }),
        );
      }
    }
    expect(answers).toHaveLength(2 * 4 * 3);
    expect(sent - answers.length).toBeGreaterThanOrEqual(2 * 4 * 4);
    expect([...new Set(answers)].filter((status) => status < 400)).toEqual([]);
    expect(await postern.approval(id)).toMatchObject({ status: "pending", votes: [] });
    expect(await postern.operator("GET", "/v1/controls")).toMatchObject({ paused: false });
    // The person's own page still works.
    await grace.page.getByRole("button", { name: "Approve once" }).click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
  });
});

/** Runs in the hostile page: the result of each way to read. */
const everyWay = `async ([target, id]) => {
  const paths = ["/v1/session", "/v1/approvals/" + id, "/approvals/" + id];
  const fetched = async (more) => {
    for (const path of paths) {
      const text = await fetch(target + path, more).then((answer) => answer.text(), () => undefined);
      if (text !== undefined) return text;
    }
    return "refused";
  };
  const opaque = async () => {
    const types = [];
    for (const path of paths) types.push(await fetch(target + path, { mode: "no-cors", credentials: "include" }).then(({ type, status }) => status === 0 ? type : String(status), () => "opaque"));
    return [...new Set(types)].join();
  };
  const events = () => new Promise((done) => {
    const source = new EventSource(target + "/v1/events", { withCredentials: true });
    source.onmessage = ({ data }) => done(data);
    source.onopen = () => done("open");
    source.onerror = () => { source.close(); done("refused"); };
  });
  const script = () => new Promise((done) => {
    const element = document.createElement("script");
    element.src = target + paths[1];
    element.onload = () => done("run");
    element.onerror = () => done("refused");
    document.body.append(element);
  });
  const seen = (view) => {
    try { return view.document.body.innerHTML === "" ? "nothing to see" : "seen"; } catch { return "nothing to see"; }
  };
  const frame = () => new Promise((done) => {
    const element = document.createElement("iframe");
    element.src = target + paths[2];
    element.onload = () => done(seen(element.contentWindow));
    document.body.append(element);
  });
  const opened = async () => {
    const view = open(target + paths[2]);
    const isEmpty = () => { try { return view?.closed === false && view.location.href === "about:blank"; } catch { return false; } };
    for (let tries = 0; tries < 500 && isEmpty(); tries += 1) await new Promise((done) => setTimeout(done, 10));
    const found = view === null ? "nothing to see" : seen(view);
    view?.postMessage({ approve: id }, "*");
    view?.close();
    return found;
  };
  return {
    "fetch": await fetched({}),
    "fetch with a cookie": await fetched({ credentials: "include" }),
    "fetch with a proof": await fetched({ credentials: "include", headers: { "x-postern-csrf": "guessed" } }),
    "no-cors": await opaque(),
    "events": await events(),
    "script": await script(),
    "frame": await frame(),
    "window": await opened(),
  };
}`;

/** Runs in the hostile page: requests that need no readable answer. */
const everyPost = `async (url) => {
  const sent = (more) => fetch(url, { method: "POST", body: "{}", ...more }).catch(() => undefined);
  await sent({ mode: "no-cors", credentials: "include" });
  await sent({ mode: "no-cors", credentials: "include", headers: { "content-type": "text/plain" } });
  await sent({ mode: "no-cors", credentials: "include", keepalive: true, redirect: "manual" });
  await sent({ credentials: "include", headers: { "content-type": "application/json", "x-postern-csrf": "guessed" } });
  navigator.sendBeacon(url, new Blob(["{}"], { type: "text/plain" }));
}`;

const form = `([url, type]) => {
  const element = document.createElement("form");
  element.method = "post";
  element.action = url;
  element.enctype = type;
  const field = document.createElement("input");
  field.name = '{"reason":"';
  field.value = '"}';
  element.append(field);
  document.body.append(element);
  element.submit();
}`;
