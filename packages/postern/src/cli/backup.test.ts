import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import { createSigner } from "../audit/signer.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function waitingIn(data: string): Promise<readonly string[]> {
  const listed = await cli.run("approvals", "list", "--json", "--data", data);
  const { approvals }: { approvals: { approval_id: string }[] } = JSON.parse(listed.out);
  return approvals.map(({ approval_id: id }) => id);
}

describe("postern backup and restore", () => {
  it("copies a running Postern; the restored one has the same log and the same open request", async () => {
    const [data, file, to] = ["running", "running.tar", "restored"].map((name) => join(cli.folder, name));
    if (data === undefined || file === undefined || to === undefined) throw new Error("three names");
    const { child } = await cli.start(data);
    const identity = await generateX25519Identity();
    await cli.run("call", "echo", "text=one", "--data", data);
    await cli.run("call", "send", "text=two", "--json", "--data", data);
    const waiting = await waitingIn(data);
    expect(waiting).toHaveLength(1);

    const recipient = await identityToRecipient(identity);
    const made = await cli.run("backup", file, "--recipient", recipient, "--json", "--data", data);
    expect(made, made.err).toMatchObject({ code: 0 });
    const { waiting: found, head, keys } = JSON.parse(made.out);
    expect(found).toBe(1);
    expect(keys).toEqual({
      sealed_to: recipient,
      names: expect.arrayContaining(["agent.token", "audit.key", "operator.token"]),
    });
    const size = await cli.run("store", "size", "--data", data);
    expect(size.out).toMatch(/calls +2 /);
    expect(size.out).toMatch(/The last checked backup is of 20/);
    await killed(child);

    const before = readdirSync(cli.folder);
    const checked = await cli.run("restore", file, "--check");
    expect(checked, checked.err).toMatchObject({ code: 0, out: expect.stringContaining(`head ${head}`) });
    expect(checked.out).toContain("1 open request");
    const publicKey = readFileSync(join(data, "audit.pub"), "utf8").trim();
    expect(checked.out).toContain(`Log signed by ${publicKey}; compare it with`);
    expect(JSON.parse(made.out)).toMatchObject({ public_key: publicKey });
    const required = await cli.run("restore", file, "--check", "--public-key", join(data, "audit.pub"));
    expect(required, required.err).toMatchObject({ code: 0, out: expect.stringContaining("signed by the given key") });
    const other = join(cli.folder, "other.pub");
    writeFileSync(other, `${createSigner().publicKey}\n`);
    const foreign = await cli.run("restore", file, "--to", to, "--public-key", other);
    expect(foreign).toMatchObject({ code: 1, err: expect.stringContaining("and not by the given one") });
    expect(existsSync(to)).toBe(false);
    rmSync(other);
    expect(readdirSync(cli.folder)).toEqual(before);

    writeFileSync(join(cli.folder, "identity"), `# created\n${identity}\n`);
    const restored = await cli.run("restore", file, "--to", to, "--identity", join(cli.folder, "identity"));
    expect(restored, restored.err).toMatchObject({ code: 0 });
    expect(await waitingIn(to)).toEqual(waiting);
    const verified = await cli.run("audit", "verify", "--json", "--data", to);
    expect(JSON.parse(verified.out)).toMatchObject({ intact: true, outcome: "ok" });
    const approved = await cli.run("approvals", "approve", waiting[0] ?? "", "--data", to);
    expect(approved, approved.err).toMatchObject({ code: 0 });
  });

  it("works without a running Postern, names the keys that it leaves out, and needs them for a start", async () => {
    const [data, file, to] = ["closed", "closed.tar", "closed-restored"].map((name) => join(cli.folder, name));
    if (data === undefined || file === undefined || to === undefined) throw new Error("three names");
    const { child } = await cli.start(data);
    await killed(child);
    const made = await cli.run("backup", file, "--data", data);
    expect(made, made.err).toMatchObject({
      code: 0,
      out: expect.stringContaining("Left out, keep them elsewhere: `agent.token`, `audit.key`"),
    });
    const restored = await cli.run("restore", file, "--to", to);
    expect(restored.out).toContain(`Put these keys into ${to} before you start: \`agent.token\`, \`audit.key\``);
    expect(existsSync(join(to, "audit.key"))).toBe(false);
    for (const name of ["audit.key", "agent.token", "operator.token"])
      writeFileSync(join(to, name), readFileSync(join(data, name)), { mode: 0o600 });
    expect(await cli.run("audit", "verify", "--data", to)).toMatchObject({ code: 0 });
  });

  it("overwrites nothing: neither a file nor a folder that is not empty", async () => {
    const [data, file, to] = ["kept", "kept.tar", "kept-to"].map((name) => join(cli.folder, name));
    if (data === undefined || file === undefined || to === undefined) throw new Error("three names");
    const { child } = await cli.start(data);
    await killed(child);
    expect(await cli.run("backup", file, "--data", data)).toMatchObject({ code: 0 });
    const bytes = readFileSync(file);
    expect(await cli.run("backup", file, "--data", data)).toMatchObject({
      code: 1,
      err: expect.stringContaining("there already"),
    });
    expect(readFileSync(file)).toEqual(bytes);
    mkdirSync(to);
    writeFileSync(join(to, "mine"), "mine");
    expect(await cli.run("restore", file, "--to", to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not empty"),
    });
    expect(readdirSync(to)).toEqual(["mine"]);
    expect(await cli.run("restore", file)).toMatchObject({ code: 2 });
    expect(await cli.run("backup", join(cli.folder, "no.tar"), "--recipient", "age2x", "--data", data)).toMatchObject({
      code: 1,
      err: expect.stringContaining("age recipient"),
    });
    expect(existsSync(join(cli.folder, "no.tar"))).toBe(false);
  });
});
