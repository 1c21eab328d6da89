/**
 * Changes a run by hand and kills itself at the log's entry of it: `node by-hand-child.ts FOLDER VERB before|after`.
 * An earlier process began the run `old`; the run `new` does not exist yet.
 */
import { join } from "node:path";
import type { StoreWrite } from "../../packages/core/src/records.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { createRuntime, SystemClock } from "../../packages/postern/src/index.ts";
import { openSqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import type { Committed, Durability } from "../../packages/postern/src/store/store.ts";
import { PointStore } from "./points.ts";

const [folder = ".", verb = "none", when = "before"] = process.argv.slice(2);
const clock = new SystemClock();

class KillingStore extends PointStore {
  override async commit(write: StoreWrite, durability: Durability): Promise<Committed> {
    const isIt = write.write === "note" && write.event.moment === "noted" && write.event.type.includes(".run_");
    if (isIt && verb !== "none" && when === "before") process.kill(process.pid, "SIGKILL");
    const committed = await super.commit(write, durability);
    if (isIt && verb !== "none") process.kill(process.pid, "SIGKILL");
    return committed;
  }
}

const store = await openSqliteStore({
  location: join(folder, "postern.db"),
  clock,
  serialize: serializeWith((text) => text),
});
await using runtime = await createRuntime({
  ...{ store: new KillingStore(store, () => {}), clock, folder: join(folder, "postern.db-files") },
  archive: { folder: join(folder, "runs") },
});
const by = { by: "ann", via: "session:ann" };
const about = { task: "changed", deliverables: ["report.md"], by };
if (verb === "none") await runtime.runs?.begin({ runId: "old" }, { task: "as it was", by });
if (verb === "begin") await runtime.runs?.begin({ runId: "new" }, about);
if (verb === "describe") await runtime.runs?.describe({ runId: "old" }, about);
if (verb === "finish") await runtime.runs?.finish({ runId: "old" }, { state: "failed", reason: "gave up", by });
