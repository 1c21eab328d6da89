import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../fakes/command-line.ts";
import type { PosternProcess } from "../fakes/postern-process.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

describe("after kill -9", () => {
  const data = join(cli.folder, "killed");
  const to = ["--data", data];
  const json = async <T>(...words: readonly string[]): Promise<T> =>
    JSON.parse((await cli.run(...words, "--json", ...to)).out);
  const killed = async (postern: Awaited<ReturnType<PosternProcess["start"]>>): Promise<void> => {
    postern.child.kill("SIGKILL");
    await postern.end.catch(() => undefined);
  };

  it("a pending request is pending, and a stored decision runs the call once on re-send or resume (case 90)", async () => {
    const first = await cli.start(data);
    const ask = async (text: string): Promise<string> =>
      (await json<{ approval_id: string }>("call", "send", `text=${text}`)).approval_id;
    const [open, approved, denied] = [await ask("killed open"), await ask("killed yes"), await ask("killed no")];
    expect((await cli.run("approvals", "approve", approved, ...to)).code).toBe(0);
    expect((await cli.run("approvals", "deny", denied, "--reason", "no", ...to)).code).toBe(0);
    await killed(first);

    const second = await cli.start(data);
    const { approvals } = await json<{ approvals: object[] }>("approvals", "list");
    expect(approvals).toMatchObject([{ approval_id: open, status: "pending" }]);
    expect(await cli.run("call", "send", "text=killed yes", ...to)).toMatchObject({
      code: 0,
      out: "sent killed yes\n",
    });
    expect(await cli.run("call", "send", "text=killed no", ...to)).toMatchObject({ code: 3 });
    expect((await cli.run("approvals", "approve", open, ...to)).code).toBe(0);
    await killed(second);

    const third = await cli.start(data);
    expect(await cli.run("call", "send", "text=killed open", ...to)).toMatchObject({
      code: 0,
      out: "sent killed open\n",
    });
    expect(await cli.run("call", "send", "text=killed open", ...to)).toMatchObject({ code: 0 });
    await killed(third);
    expect(cli.runs.filter((line) => line.startsWith("killed")).sort()).toEqual(["killed open", "killed yes"]);
    expect((await cli.run("audit", "verify", ...to)).code).toBe(0);
  }, 60_000);
});
