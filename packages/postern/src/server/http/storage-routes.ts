import { RuntimeFault } from "@postern/core";
import { backups, storage } from "@postern/core/contract";
import { problem } from "./answers.ts";
import { actorOf, isOfOwnTenant } from "./caller.ts";
import { type Route, serve } from "./route.ts";

export const storageRoutes: readonly Route[] = serve(storage, {
  show: async ({ runtime, by }) => {
    if (!isOfOwnTenant(by)) return { kinds: [] };
    const last = await runtime.storage.lastBackup();
    return { kinds: [...(await runtime.storage.sizes())], last_backup_at: last?.at };
  },
});

export const backupRoutes: readonly Route[] = serve(backups, {
  /** The first piece comes before the answer, so that a refusal has its status. */
  make: async ({ runtime, by, body }) => {
    const pieces = runtime.storage.backup(actorOf(by), body.recipient)[Symbol.asyncIterator]();
    try {
      const first = await pieces.next();
      return new Response(streamOf(first, pieces), {
        headers: {
          "content-type": "application/x-tar",
          "content-disposition": 'attachment; filename="postern-backup.tar"',
        },
      });
    } catch (error) {
      if (error instanceof RuntimeFault && refused.has(error.code))
        return problem(error.code as "internal", error.message);
      throw error;
    }
  },
  checked: async ({ runtime, by, body }) => {
    const at = Date.parse(body.taken_at);
    if (Number.isNaN(at)) return problem("request_invalid", `\`${body.taken_at.slice(0, 40)}\` is not a time.`);
    await runtime.storage.backupChecked(at, actorOf(by));
    return { recorded: true };
  },
});

const refused: ReadonlySet<string> = new Set(["backup_unsupported", "backup_running", "request_invalid", "disk_full"]);

/** When the client goes away, also before it has read anything, what was begun is ended. */
function streamOf(first: IteratorResult<Uint8Array>, rest: AsyncIterator<Uint8Array>): ReadableStream<Uint8Array> {
  let next: IteratorResult<Uint8Array> | undefined = first;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = next ?? (await rest.next());
      next = undefined;
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await rest.return?.();
    },
  });
}
