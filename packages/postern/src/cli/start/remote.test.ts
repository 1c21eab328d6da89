import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { remoteOf, remoteUrl } from "./remote.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-remote-"));
afterAll(() => rmSync(folder, { recursive: true }));
const url = "https://postern.example.com";

it("takes the token from the environment, from a file, and first of all from the flag", async () => {
  const file = join(folder, "token");
  writeFileSync(file, "pat_file\n");
  expect(await remoteOf({}, { POSTERN_TOKEN: "pat_x" })).toBeUndefined();
  expect(await remoteOf({ url }, { POSTERN_TOKEN: "pat_x" })).toEqual({ url, token: "pat_x" });
  expect(await remoteOf({ url }, { POSTERN_TOKEN_FILE: file })).toEqual({ url, token: "pat_file" });
  expect(await remoteOf({ url, tokenFile: file }, { POSTERN_TOKEN: "pat_x" })).toEqual({ url, token: "pat_file" });
});

it.each([
  ["http://postern.example.com", "without TLS others on the network read the token"],
  ["http://10.0.0.1:7420", "ssh -L"],
  ["postern.example.com", "is no address of a Postern"],
  ["https://postern.example.com/mcp", "is no address of a Postern"],
  ["https://user:word@postern.example.com", "is no address of a Postern"],
  ["file:///etc/passwd", "is no address of a Postern"],
])("sends no token to %s", (typed, why) => {
  expect(() => remoteUrl(typed)).toThrow(why);
});

it("asks without TLS on this machine only", () => {
  for (const here of ["http://127.0.0.1:7420", "http://localhost:7420", "http://[::1]:7420"])
    expect(remoteUrl(here)).toBe(here);
  expect(remoteUrl("https://10.0.0.1:8443/")).toBe("https://10.0.0.1:8443");
});

it("says how to get a token, and which of two flags is missing", async () => {
  await expect(remoteOf({ url }, {})).rejects.toThrow(/There is no token for https.*POSTERN_TOKEN.*tokens create/);
  await expect(remoteOf({ tokenFile: "x" }, {})).rejects.toThrow("goes with `--url`");
  await expect(remoteOf({ url, tokenFile: join(folder, "none") }, {})).rejects.toThrow(/`--token-file` names .*ENOENT/);
  await expect(remoteOf({ url }, { POSTERN_TOKEN: "a b" })).rejects.toThrow("holds a space");
});
