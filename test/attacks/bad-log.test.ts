import { describe, expect, it } from "vitest";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };
const folder = ownFolder();

describe.each(["memory", `sqlite:${folder}/bad-log.db`])("on `%s`, a log of one's own", (store) => {
  it.each([
    [
      "throws",
      () => {
        throw new Error("no disk for logs");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no disk for logs"))],
  ])("that %s changes nothing of a call, of the audit log or of who looks on, and is told of once", async (_, log) => {
    const warned: string[] = [];
    const hear = ({ message }: Error): void => void warned.push(message);
    process.on("warning", hear);
    try {
      await using h = await runtimeFixture({ store, log });
      const entries = (await h.runtime.audit.verify()).events;
      const seen: string[] = [];
      h.runtime.watch(({ moment }) => {
        if (moment === "attempted" || moment === "arrived") throw new Error("no");
      });
      h.runtime.watch(({ moment }) => void seen.push(moment));
      for (let i = 0; i < 3; i += 1) expect(await h.runtime.invoke(echo, asker)).toMatchObject({ status: "ok" });
      await new Promise((resolve) => setImmediate(resolve));
      expect(seen.filter((moment) => moment === "ended")).toHaveLength(3);
      expect(await h.runtime.audit.verify()).toMatchObject({ intact: true, events: entries + 6 });
    } finally {
      process.off("warning", hear);
    }
    expect(warned.filter((message) => message.includes("no disk for logs"))).toHaveLength(1);
  });
});
