import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { exists, requireDataFolder } from "./data-folder.ts";

it("refuses a data folder that cannot be looked at, and says what to do", () => {
  const folder = join(ownFolder(), "round");
  symlinkSync(folder, folder); // closed to root too
  const unusable = expect.objectContaining({
    code: "data_folder_unusable",
    message: `\`${folder}\` cannot be used as data folder (ELOOP); name another with \`--data\`.`,
  });
  expect(() => requireDataFolder(folder)).toThrow(unusable);
  expect(() => exists(folder)).toThrow(unusable);
});
