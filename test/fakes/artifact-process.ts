/**
 * A process that uses a folder of artifacts together with others on one PostgreSQL store.
 * Arguments: `sweep` or `pin`, the store's address, the folder, and how long it holds what it uses, in milliseconds.
 */
import { SystemClock } from "../../packages/core/src/index.ts";
import { openFolderArtifacts } from "../../packages/postern/src/results/folder-artifacts.ts";
import { Holding } from "../../packages/postern/src/results/shared-folder.ts";
import { openPostgresStore } from "../../packages/postern/src/store/postgres/postgres-store.ts";
import { noneNeeded } from "./shaping.ts";

const [, , does, url = "", folder = "", holds] = process.argv;
const holdMs = Number(holds);
const log = (problem: string): void => void process.stderr.write(`${problem}\n`);
const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: () => "{}", log });
const { clock } = store;
const artifacts = await openFolderArtifacts({ folder, clock, retentionMs: 0, shared: { store, log, holdMs } });

if (does === "sweep") {
  let isOver = false;
  let removed = 0;
  process.stdin.once("data", () => {
    isOver = true;
  });
  process.stdout.write("sweeping\n");
  while (!isOver) removed += await artifacts.sweep(noneNeeded);
  process.stdout.write(`${removed}\n`);
  process.exit();
}

const { folderId = "" } = artifacts.shared ?? {};
const owner = { tenant: "acme", agent: "ada" };
const { digest } = await artifacts.put(Buffer.from("pinned"), "text/plain", owner);
new Holding({ folder, folderId, store, clock, log, holdMs, hold: () => artifacts.holdPinned() });
process.stdout.write(`${folderId}/${digest}\n`);
process.stdin.resume(); // until it is killed
