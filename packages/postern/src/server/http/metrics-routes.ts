import { metrics } from "@postern/core/contract";
import { problem } from "./answers.ts";
import { type Route, serve } from "./route.ts";

export const metricsRoutes: readonly Route[] = serve(metrics, {
  read: async ({ runtime }) =>
    runtime.metrics === undefined
      ? problem("metrics_off", "This server counts nothing: make its runtime with `metrics: true`.")
      : new Response(await runtime.metrics.text(), { headers: { "content-type": runtime.metrics.contentType } }),
});
