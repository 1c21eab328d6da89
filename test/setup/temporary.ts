/** All temporary files of a run are in one folder. A file left there at the end comes from a test or from the product. */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A worker that was ended in the middle of its work may leave a file. */
const mostLeft = 8;

export function setup(): () => void {
  const base = mkdtempSync(join(tmpdir(), "postern-"));
  chmodSync(base, 0o711); // sandboxes that run as nobody walk through it
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = base; // workers, and what they start, take it from here
  return () => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    const left = readdirSync(base);
    rmSync(base, { recursive: true, force: true });
    if (left.length > mostLeft) throw new Error(`The tests left ${left.length} temporary files: ${messages(left)}.`);
  };
}

/** Groups the files by their maker: `mkdtemp` adds six characters to a name. */
function messages(left: readonly string[]): string {
  const kinds = new Map<string, number>();
  for (const name of left) {
    const kind = name.replace(/-\w{6}$/, "-*");
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return [...kinds].map(([kind, times]) => `${times} × \`${kind}\``).join(", ");
}
