import { expect, it } from "vitest";
import { auditSchema, auditSettingsFrom } from "./audit-config.ts";

it("reads how fast the log is verified, and leaves what is not said to the defaults", () => {
  expect(auditSettingsFrom(auditSchema.parse({}), "/")).toEqual({ recheck: {} });
  const said = { recheck: { enabled: false, entries_per_second: 50 } };
  expect(auditSettingsFrom(auditSchema.parse(said), "/")).toEqual({
    recheck: { enabled: false, entriesPerSecond: 50 },
  });
});
