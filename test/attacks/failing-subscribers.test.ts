import { describe, expect, it } from "vitest";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

describe("hooks, subscribers and progress sinks that misbehave", () => {
  it("change nothing of the call", async () => {
    await using h = await runtimeFixture({
      hooks: {
        toolStart: () => {
          throw new Error("no");
        },
        toolEnd: () => {
          throw null;
        },
      } as never,
    });
    h.runtime.watch(() => {
      throw new Error("no");
    });
    h.runtime.watch((() => Promise.reject(new Error("no"))) as never);
    h.runtime.watch((event) => {
      Reflect.set(event, "as", "failed");
    });
    const outcome = await h.runtime.invoke(echo, {
      ...asker,
      onProgress: () => {
        throw new Error("no");
      },
    });
    expect(outcome.status).toBe("ok");
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true, events: 2 });
  });
});
