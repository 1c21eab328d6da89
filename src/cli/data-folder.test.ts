import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../test/fakes/own-folder.ts";
import { booksToLook, requireDataFolder } from "./data-folder.ts";

it("a data folder that cannot even be looked at is told, with what to do", () => {
  const folder = join(ownFolder(), "round");
  symlinkSync(folder, folder); // as closed to root as another's folder is to everybody else
  const unusable = expect.objectContaining({
    code: "data_folder_unusable",
    message: `\`${folder}\` cannot be used as data folder (ELOOP); name another with \`--data\`.`,
  });
  expect(() => requireDataFolder(folder)).toThrow(unusable);
  expect(() => booksToLook(folder)).toThrow(unusable);
});
