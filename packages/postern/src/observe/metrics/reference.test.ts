import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { families } from "./families.ts";

it("the reference of metrics names each metric with its type, and no other", () => {
  const text = readFileSync(new URL("../../../../../docs/reference/metrics.md", import.meta.url), "utf8");
  const rows = Array.from(text.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram)\b/gm), ([, name, type]) => [
    name,
    type,
  ]);
  expect(rows).toEqual(Object.entries(families).map(([name, { type }]) => [name, type]));
});
