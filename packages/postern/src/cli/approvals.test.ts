import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import type { PosternProcess } from "../../../../test/fakes/postern-process.ts";

const cli = new CommandLine();
const file = join(cli.folder, "postern.yaml");
writeFileSync(
  file,
  `${readFileSync(file, "utf8")}approvals:
  routes:
    - name: team mails
      match: { tools: [send], principals: ["user:operator"] }
      quorum: 2
    - name: soon
      match: { tools: [slow] }
      ttl_seconds: 120
policy:
  rules:
    - { id: ask-slow, effect: confirm, tool: slow }
`,
);
afterAll(() => cli[Symbol.dispose]());

interface Approval {
  readonly approval_id: string;
  readonly status: string;
  readonly digest: string;
  readonly shown_digest: string;
}

describe("approvals at the command line", () => {
  const data = join(cli.folder, "data");
  const to = ["--data", data];
  let running: Awaited<ReturnType<PosternProcess["start"]>>;
  const json = async <T>(...words: readonly string[]): Promise<T> =>
    JSON.parse((await cli.run(...words, "--json", ...to)).out);
  const asked = async (text: string): Promise<string> =>
    (await json<{ approval_id: string }>("call", "send", `text=${text}`)).approval_id;
  beforeAll(async () => {
    running = await cli.start(data);
  });
  afterAll(() => void running.child.kill("SIGKILL"));

  it("writes a comment, which the card and the next answer to the agent show", async () => {
    const id = await asked("commented");
    const { code, out } = await cli.run("approvals", "comment", id, "Which list is it for?", ...to);
    expect([code, out]).toEqual([0, expect.stringMatching(/comment +operator.*\n.*Which list is it for\?/)]);
    const again = await cli.run("call", "send", "text=commented", ...to);
    expect(again.err).toMatch(/^A person \(operator\) wrote .*"Which list is it for\?"/);
    expect((await cli.run("approvals", "comment", id, "", ...to)).code).not.toBe(0);
    await cli.run("approvals", "deny", id, ...to);
    const late = await cli.run("approvals", "comment", id, "Too late.", ...to);
    expect([late.code, late.err]).toEqual([1, expect.stringContaining("denied by operator already")]);
  });

  it("takes the beginning of an id where it is one's alone, and names both where it is two's", async () => {
    const [id, other] = [await asked("begins"), await asked("begins too")];
    const common = [...id].findIndex((letter, at) => letter !== other[at]);
    const both = id.slice(0, Math.max(12, Math.min(common, 13)));
    const { code, err } = await cli.run("approvals", "show", both, ...to);
    expect(code).toBe(1);
    expect(err).toContain(`\`${both}\` is how \`${id}\` and \`${other}\` begin`);
    const enough = id.slice(0, common + 1);
    expect((await json<Approval>("approvals", "show", enough)).approval_id).toBe(id);
    expect((await json<Approval>("approvals", "deny", enough)).status).toBe("denied");
    expect((await cli.run("approvals", "deny", other, ...to)).code).toBe(0);
    expect((await json<Approval>("approvals", "show", enough)).approval_id).toBe(id); // also of what does not wait any more
    const none = await cli.run("approvals", "show", "apr_00000000", ...to);
    expect(none.err).toContain("There is no approval `apr_00000000`; `");
    expect(none.err).toContain(`--data ${data} approvals\` lists what waits.`);
  });

  it("lists what waits, filtered, and shows one with all that is known", async () => {
    const id = await asked("one");
    const { approvals } = await json<{ approvals: Approval[] }>(
      "approvals",
      "list",
      "--tool",
      "send",
      "--risk",
      "high",
      "--mine",
    );
    expect(approvals).toMatchObject([{ approval_id: id, status: "pending" }]);
    expect((await cli.run("approvals", "show", id, ...to)).out).toContain("would send one");
    const { shown_digest } = await json<Approval>("approvals", "show", id);
    const { out } = await cli.run("approvals", "show", id, ...to);
    expect(out).toMatch(
      new RegExp(`^Nothing but what is shown here: .+ approvals approve ${id} --digest ${shown_digest}$`, "m"),
    );
    expect(await cli.run("approvals", "list", "--risk", "huge", ...to)).toMatchObject({
      code: 2,
      err: expect.stringContaining("`huge` is none of safe, medium, high, critical"),
    });
  });

  it("prints for a critical call a command that works, and names the flag without it", async () => {
    await cli.run("controls", "autonomy", "A4", ...to);
    const asked = await cli.run("call", "wipe", ...to);
    await cli.run("controls", "autonomy", "A2", ...to);
    const [, printed = "", id = ""] = /^Decide: {2}.*?(approvals approve (apr_\S+).*)$/m.exec(asked.err) ?? [];
    expect(await cli.run("approvals", "approve", id, ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("`--confirm wipe`"),
    });
    const card = await cli.run("approvals", "show", id, ...to);
    const [, shown = ""] = /^Nothing but what is shown here: .*?(approvals approve apr_.*)$/m.exec(card.out) ?? [];
    expect(shown).toContain("--digest");
    expect((await cli.run(...shown.split(" "), ...to)).code).toBe(0);
    expect((await cli.run("approvals", "revoke", id, "--reason", "again", ...to)).code).toBe(0);
    expect(printed).toBe(`approvals approve ${id} --confirm wipe`);
  });

  it("prints what ends first first, however risky what came before it is", async () => {
    const run = ["--run", "run-urgent"];
    const call = async (...words: readonly string[]): Promise<string> =>
      (await json<{ approval_id: string }>("call", ...words, ...run)).approval_id;
    const later = await call("send", "text=later");
    const soon = await call("slow", "seconds=0");
    const { out } = await cli.run("approvals", "list", ...run, ...to);
    expect(out.indexOf(soon)).toBeGreaterThan(0);
    expect(out.indexOf(later)).toBeGreaterThan(out.indexOf(soon));
    const lines = await json<{ approvals: Approval[] }>("approvals", "list", "--limit", "1", ...run);
    expect(lines.approvals).toMatchObject([{ approval_id: soon }]);
    await cli.run("approvals", "deny", soon, ...to);
  });

  it("decides nothing when the request changed after it was shown", async () => {
    const id = await asked("two");
    const { digest, shown_digest: shown } = await json<Approval>("approvals", "show", id);
    expect(await cli.run("approvals", "approve", id, "--digest", digest, ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("send its `shown_digest`"),
    });
    expect((await cli.run("approvals", "approve", id, "--digest", shown, ...to)).code).toBe(0);
    expect((await cli.run("approvals", "revoke", id, "--reason", "not now", ...to)).out).toContain("Revoked.");
    expect(await cli.run("approvals", "revoke", id, ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("withdrawn"),
    });
  });

  it("decides several at once, and fails when one was not", async () => {
    const ids = [await asked("a"), await asked("b")];
    const both = await cli.run("approvals", "deny", ...ids, "--reason", "no", ...to);
    expect(both).toMatchObject({ code: 0, out: `${ids[0]}  denied\n${ids[1]}  denied\n2 denied.\n` });
    expect(await cli.run("approvals", "approve", ...ids, ...to)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/denied by operator already[\s\S]*\n2 not taken\.\n$/),
    });
  });

  it("decides of several only those that are as they were seen", async () => {
    const ids = [await asked("c"), await asked("d")];
    const { shown_digest: shown } = await json<Approval>("approvals", "show", ids[0] ?? "");
    const both = ids.map((id) => `${id}=${shown}`);
    expect(await cli.run("approvals", "deny", ...both, ...to)).toMatchObject({
      code: 1,
      out: expect.stringMatching(new RegExp(`^${ids[0]}  denied\n${ids[1]}  .*look at it again`)),
    });
    await cli.run("approvals", "deny", ids[1] ?? "", ...to);
  });

  it("remembers a yes for a time, lists it with its uses, and ends it", async () => {
    const id = await asked("team: hello");
    const where = '{"$.text": {"like": "team: *"}}';
    expect(await cli.run("approvals", "approve", id, "--remember", "2h", "--where", where, ...to)).toMatchObject({
      code: 2,
      err: expect.stringContaining("--reason"),
    });
    const made = await cli.run(
      "approvals",
      "approve",
      id,
      "--remember",
      "2h",
      "--where",
      where,
      "--reason",
      "team",
      ...to,
    );
    expect(made.out).toMatch(/Remembered as grt_/);
    expect((await cli.run("call", "send", "text=team: again", ...to)).out).toBe("sent team: again\n");
    const { grants } = await json<{ grants: { grant_id: string; uses: number }[] }>("approvals", "grants");
    expect(grants).toMatchObject([{ uses: 1, scope: { tool: "send" }, reason: "team" }]);
    const table = await cli.run("approvals", "grants", "list", ...to);
    expect(table.out).toContain(grants[0]?.grant_id);
    expect((await cli.run("approvals", "grants", "revoke", grants[0]?.grant_id ?? "", ...to)).out).toContain("Revoked");
    expect((await cli.run("approvals", "grants", ...to)).out).toBe("No grants are live.\n");
  });
});
