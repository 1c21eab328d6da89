import { z } from "@hono/zod-openapi";
import { namePattern } from "../../secrets/secret-name.ts";
import { answer } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { nothing, type Route, route } from "./old-route.ts";

interface SecretChange {
  readonly connector: string;
  readonly key: string;
  readonly act: "set" | "removed";
}

const wholeName = new RegExp(`^${namePattern}$`);
/** The names stay unsaid where they are none: somebody may have put the value there. */
const secretChange: z.ZodType<SecretChange> = z
  .strictObject({ connector: z.string().max(128), key: z.string().max(128), act: z.enum(["set", "removed"]) })
  .refine(({ connector, key }) => wholeName.test(`${connector}/${key}`), "`connector` and `key` name no secret");

/** `postern secrets` changes a sealed file, not the store: that it did is recorded here, by name alone, and what was set is masked from now on. */
export const secretRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/v1/secrets/changes",
    needs: "controls:write",
    summary: "Record that a secret was set or removed, and mask what was set. Its value is never sent.",
    body: secretChange,
    query: nothing,
    answers: z.object({ recorded: z.boolean() }),
    run: async ({ runtime, by, learnSecret, body: { connector, key, act } }) => {
      if (act === "set") await learnSecret?.(connector, key);
      const summary = `Secret ${connector}/${key} ${act}`;
      await runtime.note(`operator.action.secret_${act}`, summary, {
        ...actorOf(by),
        outcome: "success",
        data: { connector, key },
      });
      return answer({ recorded: true });
    },
  }),
];
