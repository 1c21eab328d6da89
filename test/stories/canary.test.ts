import { expect, it } from "vitest";
import { runCanary } from "../canary/canary.ts";

/** `npm run proof -- canary` uses forty canaries. */
it("no lent secret is in any sink in any encoding, whatever tools, servers and callers do with it (case 260)", async () => {
  const { examples, sinks, hits } = await runCanary(10);
  expect(examples).toEqual({});
  expect(hits).toBe(0);
  expect(sinks.map(({ sink }) => sink)).toEqual(
    expect.arrayContaining([
      ...["database", "write-ahead log", "run archive", "artifacts", "log", "hooks", "results", "progress", "errors"],
      ...[
        "approvals",
        "audit",
        "audit export",
        "/v1",
        "health",
        "tools",
        "explain",
        "stream: emitted",
        "stream: noted",
      ],
    ]),
  );
}, 60_000);

it("without masking the canary is found in every one of these sinks", async () => {
  const { sinks } = await runCanary(5, { blind: true });
  expect(sinks.filter(({ hits }) => hits === 0).map(({ sink }) => sink)).toEqual(["other files"]);
}, 60_000);
