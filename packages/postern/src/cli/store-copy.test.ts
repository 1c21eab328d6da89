import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

function statisticsIn(file: string): readonly unknown[] {
  using database = new DatabaseSync(file, { readOnly: true });
  return database.prepare("select * from statistic").all();
}

describe("postern store copy", () => {
  it("copies a store with its open request and its log, and overwrites nothing", async () => {
    const data = join(cli.folder, "from");
    const [from, to] = [join(data, "postern.db"), join(cli.folder, "to.db")];
    const { child } = await cli.start(data);
    await cli.run("call", "send", "text=two", "--json", "--data", data);
    const busy = await cli.run("store", "copy", `sqlite:${from}`, `sqlite:${to}`);
    expect(busy).toMatchObject({ code: 1, err: expect.stringContaining("is in use") });
    expect(existsSync(to)).toBe(false);
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    await gone;

    const copied = await cli.run("store", "copy", `sqlite:${from}`, `sqlite:${to}`, "--json");
    expect(copied, copied.err).toMatchObject({ code: 0 });
    const { waiting, events, root } = JSON.parse(copied.out);
    expect(waiting).toBe(1);
    expect(statisticsIn(to)).toEqual(statisticsIn(from));
    expect(statisticsIn(to)).not.toEqual([]);
    const again = await cli.run("store", "copy", `sqlite:${to}`, `sqlite:${join(cli.folder, "third.db")}`, "--json");
    expect(JSON.parse(again.out)).toMatchObject({ waiting, events, root });

    const bytes = readFileSync(to);
    const refused = await cli.run("store", "copy", `sqlite:${from}`, `sqlite:${to}`);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("must be a new store") });
    expect(readFileSync(to).length).toBe(bytes.length);
    const missing = await cli.run("store", "copy", "sqlite:none.db", "sqlite:other.db");
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("There is no store") });
    expect(await cli.run("store", "copy", "memory", "sqlite:other.db")).toMatchObject({ code: 1 });
  });

  it("does not copy out of PostgreSQL, and does not show the password", async () => {
    const to = join(cli.folder, "out.db");
    const refused = await cli.run("store", "copy", "postgres://ann:hunter2@127.0.0.1:1/postern", `sqlite:${to}`);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringMatching(/127\.0\.0\.1:1\/postern .+ names no store that can be copied; use `sqlite:FILE`/),
    });
    expect(refused.err).not.toContain("hunter2");
    expect(existsSync(to)).toBe(false);
  });
});
