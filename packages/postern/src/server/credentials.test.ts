import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentPermissions, allPermissions } from "@postern/core";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openCredentials, readToken } from "./credentials.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-credentials-"));
});
afterEach(() => rm(folder, { recursive: true }));

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

it("makes two different 256-bit tokens on first start, readable by their owner only", async () => {
  const data = join(folder, "data");
  await openCredentials(data);
  const tokens = await Promise.all([readToken(data, "agent"), readToken(data, "operator")]);
  expect(tokens[0]).not.toBe(tokens[1]);
  for (const token of tokens) expect(Buffer.from(token ?? "", "base64url")).toHaveLength(32);
  expect(await modeOf(data)).toBe("700");
  expect(await modeOf(join(data, "agent.token"))).toBe("600");
  expect(await modeOf(join(data, "operator.token"))).toBe("600");
});

it("keeps the tokens over a restart", async () => {
  await openCredentials(folder);
  const token = await readToken(folder, "agent");
  const again = await openCredentials(folder);
  expect(await readToken(folder, "agent")).toBe(token);
  expect(again.authenticate(`Bearer ${token}`)?.kind).toBe("agent");
});

it("says who a token speaks for, and that an operator may decide while an agent may only call", async () => {
  const credentials = await openCredentials(folder, { agentScopes: ["mail:read"] });
  expect(credentials.authenticate(`Bearer ${await readToken(folder, "agent")}`)).toEqual({
    kind: "agent",
    credential: "agent-token",
    principal: { tenant: "default", agent: "local-agent", via: "token:agent" },
    scopes: ["mail:read"],
    permissions: agentPermissions,
    decider: { user: "local-agent", via: "token:agent", tenant: "default" },
  });
  expect(credentials.authenticate(`Bearer ${await readToken(folder, "operator")}`)).toEqual({
    kind: "person",
    credential: "operator-token",
    principal: {
      tenant: "default",
      agent: "operator-cli",
      user: "operator",
      via: "token:operator",
    },
    scopes: ["*"],
    permissions: allPermissions,
    decider: { user: "operator", via: "token:operator", tenant: "default" },
  });
});

it("refuses a missing, empty, foreign, cut, lengthened or differently sent token", async () => {
  const credentials = await openCredentials(folder);
  const token = await readToken(folder, "operator");
  for (const header of [
    undefined,
    null,
    "",
    "Bearer",
    "Bearer ",
    `Bearer ${"A".repeat(43)}`,
    `Bearer ${token?.slice(0, -1)}`,
    `Bearer ${token}A`,
    `Basic ${token}`,
    `${token}`,
    `Bearer ${token} x`,
  ]) {
    expect(credentials.authenticate(header), String(header)).toBeUndefined();
  }
});

it("tightens a folder and files that others could read, and reports it", async () => {
  await openCredentials(folder);
  await chmod(folder, 0o755);
  await chmod(join(folder, "operator.token"), 0o644);
  const { notices } = await openCredentials(folder);
  expect(notices).toHaveLength(2);
  expect(notices[1]).toMatch(/operator\.token.*0644.*0600/);
  expect(await modeOf(folder)).toBe("700");
  expect(await modeOf(join(folder, "operator.token"))).toBe("600");
});

it("refuses a token file that is empty, short, a link or a folder, and names it", async () => {
  const path = join(folder, "agent.token");
  await writeFile(path, "\n");
  await expect(openCredentials(folder)).rejects.toThrow(/agent\.token.*43 characters.*remove it/);
  await rm(path);
  await symlink("/dev/zero", path);
  await expect(openCredentials(folder)).rejects.toThrow(/is a link/);
  await rm(path);
  expect(await readToken(folder, "agent")).toBeUndefined();
  await mkdir(path);
  await expect(openCredentials(folder)).rejects.toThrow(/is not a file/);
});

it("writes a token as one line of its file", async () => {
  await openCredentials(folder);
  expect(await readFile(join(folder, "agent.token"), "utf8")).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
});

it("agrees with another first start at the same moment, and leaves nothing else behind", async () => {
  const both = await Promise.all([openCredentials(folder), openCredentials(folder)]);
  const token = await readToken(folder, "operator");
  for (const credentials of both)
    expect(credentials.authenticate(`Bearer ${token}`)?.credential).toBe("operator-token");
  expect((await readdir(folder)).sort()).toEqual(["agent.token", "operator.token"]);
});

it("says of a folder that cannot be used which one it is", async () => {
  await writeFile(join(folder, "file"), "");
  await expect(openCredentials(join(folder, "file"))).rejects.toThrow(/file` cannot be used.*--data/);
});
