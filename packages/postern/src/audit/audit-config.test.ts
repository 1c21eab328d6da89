import { noOpaqueFields, toCamelCase } from "@postern/core";
import { expect, it } from "vitest";
import { auditSchema, auditSettingsFrom } from "./audit-config.ts";

it("reads the speed of the background check, and keeps the defaults", () => {
  expect(auditSettingsFrom({}, "/")).toEqual({ recheck: {} });
  const said = { recheck: { enabled: false, entries_per_second: 50 } };
  expect(auditSettingsFrom(toCamelCase(auditSchema.parse(said), noOpaqueFields), "/")).toEqual({
    recheck: { enabled: false, entriesPerSecond: 50 },
  });
});
