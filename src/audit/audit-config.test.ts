import { expect, it } from "vitest";
import { noOpaqueFields, toCamelCase } from "../core/case.ts";
import { auditSchema, auditSettingsFrom } from "./audit-config.ts";

it("reads how fast the log is verified, and leaves what is not said to the defaults", () => {
  expect(auditSettingsFrom({}, "/")).toEqual({ recheck: {} });
  const said = { recheck: { enabled: false, entries_per_second: 50 } };
  expect(auditSettingsFrom(toCamelCase(auditSchema.parse(said), noOpaqueFields), "/")).toEqual({
    recheck: { enabled: false, entriesPerSecond: 50 },
  });
});
