/** A page of a real Chromium tries each way to the network that Chromium has. Only the proxy may be used. */
import { createSocket } from "node:dgram";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { at, executablePath, site, stage } from "./browser-stage.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-egress-"));
const netLog = join(folder, "net.json");
const switches = join(folder, "switches");
const opened = join(folder, "opened");

/** Chromium with a log of its own network events. */
const loggingChromium = program("chromium", [
  `printf '%s\\n' "$@" > ${switches}`,
  `exec ${executablePath} "$@" --log-net-log=${netLog} --net-log-capture-mode=Everything`,
]);

function program(name: string, lines: readonly string[]): string {
  const path = join(folder, name);
  writeFileSync(path, ["#!/bin/sh", ...lines, ""].join("\n"));
  chmodSync(path, 0o755);
  return path;
}

interface Traffic {
  readonly connected: readonly string[];
  readonly datagrams: readonly string[];
  readonly resolved: readonly string[];
}

/** One event a line. The last lines may be missing when Chromium was killed. */
function traffic(): Traffic {
  const [first = "", ...lines] = readFileSync(netLog, "utf8").split("\n");
  const { logEventTypes } = (JSON.parse(`${first.replace(/,$/, "")}}`) as { constants: { logEventTypes: object } })
    .constants;
  const numbers = new Map(Object.entries(logEventTypes) as [string, number][]);
  const events = lines
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line.replace(/\]?,?$/, "")) as { type: number; params?: Record<string, unknown> });
  const named = (name: string, key: string): string[] => {
    expect(numbers.has(name)).toBe(true);
    return events.flatMap(({ type, params }) =>
      type === numbers.get(name) && params?.[key] !== undefined ? [String(params[key])] : [],
    );
  };
  return {
    connected: [...new Set(named("TCP_CONNECT_ATTEMPT", "address"))],
    datagrams: named("UDP_BYTES_SENT", "address"),
    resolved: named("HOST_RESOLVER_MANAGER_JOB", "host"),
  };
}

let datagrams = 0;
let connections = 0;
const udp = createSocket("udp4").on("message", () => {
  datagrams += 1;
});
const tcp = createServer((socket) => {
  connections += 1;
  socket.on("error", () => socket.destroy()).end();
});

beforeAll(async () => {
  await new Promise<void>((bound) => udp.bind(0, "127.0.0.1", bound));
  await new Promise<void>((listening) => tcp.listen(0, "127.0.0.1", listening));
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => {
  udp.close();
  tcp.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Tries each way, and writes `tried` when each attempt has ended. The hosts do not exist, and the listeners are not allowed. */
function leakingPage(udpPort: number, tcpPort: number): string {
  return `<body style="margin:0">
<link rel=dns-prefetch href="http://prefetch.example/"><link rel=preconnect href="http://preconnect.example/">
<link rel=preconnect href="http://127.0.0.1:${tcpPort}/"><link rel=prefetch href="http://127.0.0.1:${tcpPort}/prefetch">
<link rel=modulepreload href="http://127.0.0.1:${tcpPort}/preload">
<script type=speculationrules>{
  "prerender": [{ "source": "list", "urls": ["/other", "http://127.0.0.1:${tcpPort}/prerender"], "eagerness": "immediate" }],
  "prefetch": [{ "source": "list", "urls": ["http://127.0.0.1:${tcpPort}/speculated"], "eagerness": "immediate",
    "requires": ["anonymous-client-ip-when-cross-origin"] }] }</script>
<iframe src="file:///etc/hostname"></iframe><iframe src="ftp://ftp.example/"></iframe><iframe src="chrome://version"></iframe>
<script>
const settled = [];
async function rtc() {
  const far = "127.0.0.1:${udpPort}", close = "127.0.0.1:${tcpPort}";
  const iceServers = [
    { urls: ["stun:" + far, "stun:stun.example:3478"] },
    { urls: ["turn:" + far + "?transport=udp", "turn:" + close + "?transport=tcp", "turns:" + close + "?transport=tcp",
        "turn:turn.example:3478?transport=udp", "turn:turns.example:3478?transport=tcp"], username: "u", credential: "p" },
  ];
  const [one, other] = [new RTCPeerConnection({ iceServers }), new RTCPeerConnection()];
  one.createDataChannel("data");
  await one.setLocalDescription(await one.createOffer());
  await other.setRemoteDescription(one.localDescription);
  await other.setLocalDescription(await other.createAnswer());
  await one.setRemoteDescription(other.localDescription);
  for (const to of ["udp 2122260223 127.0.0.1 ${udpPort} typ host", "udp 2122260222 some-data.local 5000 typ host",
      "tcp 1518280447 127.0.0.1 ${tcpPort} typ host tcptype passive"])
    await one.addIceCandidate({ candidate: "candidate:1 1 " + to, sdpMid: "0", sdpMLineIndex: 0 }).catch(() => undefined);
}
settled.push(rtc());
for (const url of ["https://127.0.0.1:${udpPort}/", "https://transport.example/"]) {
  try { settled.push(new WebTransport(url).ready); } catch { /* not on this page */ }
}
for (const url of ["http://127.0.0.1:${tcpPort}/", "https://127.0.0.1:${udpPort}/", "http://[::1]:${tcpPort}/", "http://localhost:${tcpPort}/"])
  settled.push(fetch(url, { mode: "no-cors" }));
navigator.sendBeacon("http://127.0.0.1:${tcpPort}/beacon", "data");
for (const url of ["ws://127.0.0.1:${tcpPort}/", "wss://socket.example/"])
  settled.push(new Promise((done) => { new WebSocket(url).onerror = done; }));
settled.push(new Promise((done) => { new EventSource("http://127.0.0.1:${tcpPort}/events").onerror = done; }));
const script = URL.createObjectURL(new Blob(["fetch('http://127.0.0.1:${tcpPort}/worker').finally(() => postMessage(0))"]));
settled.push(new Promise((done) => { new Worker(script).onmessage = done; }));
try { new SharedWorker(script); } catch { /* not on this page */ }
if (navigator.serviceWorker) settled.push(navigator.serviceWorker.register("/service-worker.js"));
Promise.allSettled(settled).then(() => document.body.append("tried"));
onclick = () => open("http://127.0.0.1:${tcpPort}/popup");
</script>`;
}

describe.skipIf(executablePath === undefined)("in Chromium", () => {
  it("reaches the network only through the proxy, whatever a page tries", async () => {
    vi.stubEnv("PLAYWRIGHT_DISABLE_FORCED_CHROMIUM_PROXIED_LOOPBACK", "1");
    const page = leakingPage(udp.address().port, (tcp.address() as AddressInfo).port);
    await using server = await site("127.0.0.2", ({ url }, answer) => {
      const isScript = url === "/service-worker.js";
      answer.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      answer.end(isScript ? "fetch('http://worker.example/')" : url === "/" ? page : "other");
    });
    {
      await using on = await stage({ allowedHosts: ["127.0.0.2"], executablePath: loggingChromium });
      expect(await on.act("navigate", { url: `http://127.0.0.2:${server.port}/` })).toMatchObject({ isError: false });
      await vi.waitUntil(async () => (await on.act("get_page_text")).text.includes("tried"), { timeout: 30_000 });
      expect(await on.act("left_click", at(600, 600))).toMatchObject({ isError: false });
      expect(await on.act("wait", { duration: 2 })).toMatchObject({ isError: false });
    }
    const { connected, datagrams: sent, resolved } = traffic();
    expect({ datagrams, connections, sent, resolved }).toEqual({
      datagrams: 0,
      connections: 0,
      sent: [],
      resolved: [],
    });
    expect(connected).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]); // the proxy of this run
  });

  it("starts no program of the machine for a link that is no web page", async () => {
    program("xdg-open", [`echo "$@" >> ${opened}`]);
    vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"] ?? ""}`);
    const link =
      '<a style="position:absolute;left:0;top:0;width:100px;height:100px" href="mailto:ada@mail.example">Mail</a>';
    await using server = await site("127.0.0.2", (_request, answer) =>
      answer.setHeader("content-type", "text/html").end(link),
    );
    await using on = await stage({ allowedHosts: ["127.0.0.2"] });
    await on.act("navigate", { url: `http://127.0.0.2:${server.port}/` });
    expect(await on.act("left_click", at(50, 50))).toMatchObject({ isError: false });
    expect(await on.act("wait", { duration: 1 })).toMatchObject({ isError: false });
    expect(existsSync(opened)).toBe(false);
  });

  it("keeps the features off that Playwright turns off", async () => {
    {
      await using on = await stage({ executablePath: loggingChromium });
      await on.act("screenshot");
    }
    const lists = readFileSync(switches, "utf8")
      .split("\n")
      .flatMap((line) =>
        line.startsWith("--disable-features=") ? [line.slice("--disable-features=".length).split(",")] : [],
      );
    expect(lists.length).toBe(2);
    expect(lists[1]).toEqual(expect.arrayContaining(lists[0] ?? []));
  });
});
