/** The command line against a Postern behind TLS, with a certificate of an authority of one's own. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PosternProcess } from "../fakes/postern-process.ts";

const cli = new PosternProcess();
const data = join(cli.folder, ".postern");
const certificate = join(cli.folder, "certificate.pem");
const token = join(cli.folder, "token");
let url = "";
let stop = (): void => {};

beforeAll(async () => {
  const { child } = await cli.start(data);
  const key = join(cli.folder, "key.pem");
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const made = ["req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-keyout", key, "-out", certificate];
  execFileSync("openssl", [...made, ...names], { stdio: "ignore" });
  const { port } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
  const options = { key: readFileSync(key), cert: readFileSync(certificate) };
  const proxy = createServer(options, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const host = `127.0.0.1:${port}`;
    const sent = request({ port, method, path, headers: { ...headers, host } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  url = `https://localhost:${(proxy.address() as AddressInfo).port}`; // of TCP
  stop = () => {
    proxy.close();
    proxy.closeAllConnections();
    child.kill("SIGKILL");
  };
  writeFileSync(token, readFileSync(join(data, "operator.token")), { mode: 0o644 });
}, 60_000);
afterAll(() => {
  stop();
  cli[Symbol.dispose]();
});

it("does not send a token to a server whose certificate it does not trust", async () => {
  const { code, err } = await cli.run("tools", "--url", url, "--token-file", token);
  expect(code).toBe(1);
  expect(err).toMatch(/certificate of https:\S+ is not trusted .*nothing was sent.*NODE_EXTRA_CA_CERTS/);
});

it("works with a token and the authority, and needs no data folder", async () => {
  process.env["NODE_EXTRA_CA_CERTS"] = certificate;
  try {
    const to = ["--url", url, "--token-file", token];
    expect(await cli.runIn("/", "call", "echo", "text=far", ...to)).toMatchObject({ code: 0, out: "far\n" });
    expect((await cli.runIn("/", "tokens", "list", ...to)).code).toBe(0);
    const connected = join(cli.folder, "mcp.json");
    await cli.run("connect", "claude", "--file", connected, "--yes", "--url", url);
    expect(JSON.parse(readFileSync(connected, "utf8")).mcpServers.postern.url).toBe(`${url}/mcp`);
    expect((await cli.run("start", "--url", url)).err).toContain("works on this machine");
  } finally {
    delete process.env["NODE_EXTRA_CA_CERTS"];
  }
}, 30_000);
