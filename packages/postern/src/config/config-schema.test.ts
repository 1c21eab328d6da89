import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { toolsIn } from "../tools/toolsets/toolset.ts";
import { jsonSchema } from "./config-schema.ts";
import { loadConfig } from "./load.ts";
import { loadToolModules } from "./tool-modules.ts";

const root = join(import.meta.dirname, "../../../..");

it("publishes the schema that is enforced: `npm run schema` was not forgotten", () => {
  const published: unknown = JSON.parse(
    readFileSync(join(root, "packages/postern/schema/postern.schema.json"), "utf8"),
  );
  expect(published).toEqual(JSON.parse(JSON.stringify(jsonSchema())));
});

it("the sample configuration is right, and names the published schema", async () => {
  expect(readFileSync(join(root, "postern.yaml"), "utf8").split("\n")[0]).toBe(
    "# yaml-language-server: $schema=./schema/postern.schema.json",
  );
  const settings = await loadConfig({ flags: {}, environment: {}, folder: root });
  expect(Object.keys(settings.servers)).toEqual(["everything", "filesystem"]);
  const tools = await loadToolModules(settings.toolModules, "postern.yaml");
  expect(toolsIn(tools).map(({ name }) => name)).toEqual(["clock_now", "note_append"]);
});

it("says which module cannot be loaded, or exports no tool", async () => {
  await expect(loadToolModules([join(root, "nope.ts")], "postern.yaml")).rejects.toThrow(
    /postern\.yaml tools\.modules\[0\]: `.*nope\.ts` cannot be loaded/,
  );
  await expect(loadToolModules([join(root, "packages/core/src/risk.ts")], "postern.yaml")).rejects.toThrow(
    /exports no tool/,
  );
});
