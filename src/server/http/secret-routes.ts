import { secrets } from "../contract/controls.ts";
import { actorOf } from "./decider.ts";
import { type Route, serve } from "./route.ts";

export const secretRoutes: readonly Route[] = serve(secrets, {
  changed: async ({ runtime, by, learnSecret, body: { connector, key, act } }) => {
    if (act === "set") await learnSecret?.(connector, key);
    const summary = `Secret ${connector}/${key} ${act}`;
    await runtime.note(`operator.action.secret_${act}`, summary, {
      ...actorOf(by),
      outcome: "success",
      data: { connector, key },
    });
    return { recorded: true };
  },
});
