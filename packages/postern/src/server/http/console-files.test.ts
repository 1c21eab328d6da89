import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { consoleFiles } from "./console-files.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postern-console-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Postern</title>");
  writeFileSync(join(folder, "assets/index-abc.js"), "console.log(1)");
  writeFileSync(join(folder, "secrets.env"), "TOKEN=1");
  writeFileSync(join(folder, "..", "postern-outside.html"), "outside");
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(join(folder, "..", "postern-outside.html"), { force: true });
});

const browser = { accept: "text/html,application/xhtml+xml", "accept-encoding": "gzip" };

function ask(path: string, headers: Record<string, string> = browser, method = "GET"): Promise<Response | undefined> {
  return consoleFiles({ folder })(new Request(`http://127.0.0.1:7420${path}`, { headers, method }));
}

describe("consoleFiles", () => {
  it("answers the page at every place inside it, with a policy against inline scripts and frames", async () => {
    for (const path of ["/", "/approvals", "/approvals/apr_1", "/runs/run-1?tab=log"]) {
      const answer = await ask(path);
      expect(answer?.status, path).toBe(200);
      expect(answer?.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer?.headers.get("content-security-policy")).toMatch(/script-src 'self'.*frame-ancestors 'none'/);
      expect(answer?.headers.get("content-security-policy")).not.toMatch(/unsafe|\*|http|data:/);
      expect(answer?.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("lets caches keep what carries its hash in its name for ever, and the page never without asking", async () => {
    expect((await ask("/assets/index-abc.js"))?.headers.get("cache-control")).toBe(
      "public, max-age=31536000, immutable",
    );
    const page = await ask("/");
    expect(page?.headers.get("cache-control")).toBe("no-cache");
    const again = await ask("/", { ...browser, "if-none-match": page?.headers.get("etag") ?? "" });
    expect(again?.status).toBe(304);
    expect(await again?.text()).toBe("");
  });

  it("sends it gzipped to who takes that, and plain to who does not", async () => {
    const zipped = await ask("/assets/index-abc.js");
    expect(zipped?.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(Buffer.from((await zipped?.arrayBuffer()) ?? new ArrayBuffer())).toString()).toBe(
      "console.log(1)",
    );
    const plain = await ask("/assets/index-abc.js", { accept: "*/*" });
    expect(plain?.headers.get("content-encoding")).toBeNull();
    expect(await plain?.text()).toBe("console.log(1)");
    expect(await (await ask("/assets/index-abc.js", browser, "HEAD"))?.text()).toBe("");
  });

  it("leads nowhere outside its folder, and to nothing in it that is no part of the page", async () => {
    for (const path of [
      "/../postern-outside.html",
      "/%2e%2e/postern-outside.html",
      "/assets/..%2f..%2fpostern-outside.html",
      "/assets//index-abc.js",
      "/secrets.env.js",
      "/assets/index-abc.js/",
      "/\\..\\postern-outside.html",
    ]) {
      const answer = await ask(path, { accept: "*/*" });
      expect(answer, path).toBeUndefined();
    }
    expect(await (await ask("/secrets.env"))?.text()).not.toContain("TOKEN");
  });

  it("answers no page to a program or to a request that changes something", async () => {
    expect(await ask("/approvals", { accept: "application/json" })).toBeUndefined();
    expect(await ask("/", browser, "POST")).toBeUndefined();
  });

  it("serves one plain page that says what to do while the console is not built, and the console once it is", async () => {
    const elsewhere = join(folder, "later");
    const files = consoleFiles({ folder: elsewhere, command: "npx postern --data …" });
    const request = (): Request => new Request("http://127.0.0.1:7420/", { headers: browser });
    const missing = await files(request());
    expect(missing?.status).toBe(503);
    const page = await missing?.text();
    expect(page).toContain("npm run build --workspace console");
    expect(page).toContain("<code>npx postern --data … approvals</code>");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "index.html"), "there");
    expect((await files(request()))?.status).toBe(200);
  });

  it("says why it could not be made, as text", async () => {
    const files = consoleFiles({ folder, prepare: async () => "no <b>disk</b>" });
    const answer = await files(new Request("http://127.0.0.1:7420/", { headers: browser }));
    expect(await answer?.text()).toContain("no &#60;b&#62;disk&#60;/b&#62;");
  });
});
