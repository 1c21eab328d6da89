import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { givenSecret } from "./given-secret.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-given-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** As Kubernetes mounts a secret: `token` → `..data/token` → `..2026/token`, mode 0644. */
mkdirSync(join(folder, "..2026"));
writeFileSync(join(folder, "..2026", "token"), "from a mount\n", { mode: 0o644 });
symlinkSync("..2026", join(folder, "..data"));
symlinkSync(join("..data", "token"), join(folder, "token"));
const mounted = join(folder, "token");

it("reads a variable, or the file of a mount with links that everyone may read", async () => {
  expect(await givenSecret("K", { K: " plain \n" })).toEqual({ text: "plain", from: "`K`" });
  expect(await givenSecret("K", { K_FILE: mounted })).toMatchObject({ text: "from a mount" });
  expect(await givenSecret("K", { K: "", K_FILE: "" })).toBeUndefined();
});

it("refuses by name what it cannot use", async () => {
  const empty = join(folder, "empty");
  writeFileSync(empty, "\n");
  const open = join(folder, "open");
  writeFileSync(open, "x");
  chmodSync(open, 0o666);
  for (const [environment, why] of [
    [{ K: "a", K_FILE: mounted }, "`K` and `K_FILE` are both set"],
    [{ K_FILE: join(folder, "none") }, "cannot be read (ENOENT)"],
    [{ K_FILE: folder }, "is no file"],
    [{ K_FILE: empty }, "is empty"],
    [{ K_FILE: open }, "others can change"],
  ] as const)
    await expect(givenSecret("K", environment)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(why),
    });
});
